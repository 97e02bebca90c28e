// A sharding that stands in the program is told of as such, and dimensions and factors that nobody has named go by their numbers.
// RUN: llm-opt %s --tessera-explain -o /dev/null 2>&1 | FileCheck %s --implicit-check-not="holds the same" --implicit-check-not="factor factor"

// CHECK: tensor (f): input a [dimension 0, dimension 1] of 8x8 lies [x/y]
// CHECK-NEXT: dimension 0 over x: annotated in the program
// CHECK-NEXT: dimension 1 over y: annotated in the program
// CHECK: dimension 0 over x: propagated from argument a through dimension 0 of exp (a)
dist.mesh @mesh = <["x"=2, "y"=2]>
func.func @f(%a: tensor<8x8xf32> {graph.name = "a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %0 = graph.exp %a : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
