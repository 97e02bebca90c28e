// Integers are divided without a trap: by zero (the quotient is 0), and by the padding of a dimension that does not divide.
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --mesh=x=2 --shard=row=x
// RUN: llm-judge %s --rung=binary --mesh=x=3,y=2 --shard=row=x+y
func.func @f(%a: tensor<7xi64> {graph.kind = #graph.kind<input>, graph.name = "a", graph.dims = ["row"]}) -> (tensor<7xi64>, tensor<7xi32>) {
  // From 7 downwards: behind the end it is 0.
  %i = graph.iota dim = 0 : tensor<7xi64>
  %seven = graph.constant dense<7> : tensor<i64> : tensor<i64>
  %d = graph.sub %seven, %i : (tensor<i64>, tensor<7xi64>) -> tensor<7xi64>
  %0 = graph.div %a, %d : (tensor<7xi64>, tensor<7xi64>) -> tensor<7xi64>
  // From -3 to 3.
  %three = graph.constant dense<3> : tensor<i64> : tensor<i64>
  %e = graph.sub %i, %three : (tensor<7xi64>, tensor<i64>) -> tensor<7xi64>
  %short = graph.cast %e : (tensor<7xi64>) -> tensor<7xi32>
  %n = graph.constant dense<-25> : tensor<i32> : tensor<i32>
  %1 = graph.div %n, %short : (tensor<i32>, tensor<7xi32>) -> tensor<7xi32>
  return %0, %1 : tensor<7xi64>, tensor<7xi32>
}
