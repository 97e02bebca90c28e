// Dimensions that nobody has named where a value is made are called what its users call them, also in a loop.
// RUN: llm-opt %s --tessera-explain -o /dev/null 2>&1 | FileCheck %s --implicit-check-not="dimension 0" --implicit-check-not="dimension 1" --implicit-check-not="factor 0"

// CHECK: tensor (f): input a [batch, hidden] of 8x8 lies [x/y]
// CHECK-NEXT: batch over x: annotated in the program
// CHECK-NEXT: hidden over y: annotated in the program
// CHECK: batch over x: propagated from argument a through factor batch of exp (a)
dist.mesh @mesh = <["x"=2, "y"=2]>
func.func @f(%a: tensor<8x8xf32> {graph.name = "a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
             %b: tensor<8x8xf32> {graph.name = "b", graph.dims = ["batch", "hidden"]}) -> tensor<8x8xf32> {
  %0 = graph.exp %a : tensor<8x8xf32>
  %1 = graph.add %0, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
