// Weights are floats: of integers the judge says so, and does not crash.
// RUN: not llm-judge %s --rung=binary 2>&1 | FileCheck %s
// CHECK: error: cannot write weights {{.*}}: n is of integers; take it as an input or a constant: weights are floats
graph.parameter @n : tensor<4xi32> from [#graph.source<"n", file = [4]>]
func.func @f(%x: tensor<4xi32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %n: tensor<4xi32> {graph.kind = #graph.kind<parameter>, graph.name = "n"}) -> tensor<4xi32> {
  %0 = graph.add %x, %n : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
