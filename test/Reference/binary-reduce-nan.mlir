// A reduction to the maximum keeps a NaN wherever it stands, in the interpreter, in a kernel and among ranks.
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --mesh=x=2 --shard=column=x
func.func @f(%x: tensor<3x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["row", "column"]}) -> tensor<3xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32> : tensor<f32>
  %none = graph.mul %x, %zero : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %numbers = graph.constant dense<[[-1.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, -1.0], [4.0, 9.0, 1.0, 4.0]]> : tensor<3x4xf32> : tensor<3x4xf32>
  %v = graph.add %numbers, %none : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %root = graph.sqrt %v : tensor<3x4xf32>
  %m = graph.reduce max %root dims = [1] : (tensor<3x4xf32>) -> tensor<3xf32>
  return %m : tensor<3xf32>
}
