// A parameter that layers read as it is: a copy in each of two stages, which are no one program for that; three are an error.
// RUN: llm-opt %s --graph-cut-stages=stages=0,1,2,0 | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: llm-opt %s --graph-cut-stages=stages=3 | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: not llm-opt %s --graph-cut-stages=stages=1,1,1 2>&1 | FileCheck %s --check-prefix=THREE
// RUN: not llm-opt %s --graph-cut-stages="stages=1,2 recompute=summ" 2>&1 | FileCheck %s --check-prefix=NAME
// TWO: [#dist.stage<@stage0, first = 0, layers = 0, at = 0>, #dist.stage<@stage1, first = 0, layers = 1, at = 1>, #dist.stage<@stage2, first = 1, layers = 2, at = 2>, #dist.stage<@stage3, first = 3, layers = 0, at = 3>]
// TWO-LABEL: module @stage1
// TWO: graph.parameter @bias : tensor<6xf32> from {{.*}} {graph.copy = 0 : i64}
// TWO-LABEL: module @stage2
// TWO: graph.parameter @bias : tensor<6xf32> from {{.*}} {graph.copy = 1 : i64}
// ONE-NOT: graph.copy
// THREE: has a parameter, @bias, that 3 stages read, the first three of them 0, 1 and 2; gradients of two copies are added so far
// NAME: cannot compute 'summ' again (--recompute=summ): no value in a loop of layers is called so; names there are sum

// Two of one layer each between ends without layers: one kind, and a program for each copy.
// RUN: sed 's/repeat 3/repeat 2/; s/tensor<3x6xf32>/tensor<2x6xf32>/g' %s | llm-opt - --graph-cut-stages=stages=0,1,1,0 | FileCheck %s --check-prefix=KIND
// KIND: [#dist.stage<@stage0, first = 0, layers = 0, at = 0>, #dist.stage<@stage1, first = 0, layers = 1, at = 1>, #dist.stage<@stage3, first = 1, layers = 1, at = 2>, #dist.stage<@stage2, first = 2, layers = 0, at = 3>]
// KIND-LABEL: module @stage1
// KIND: {graph.copy = 0 : i64}
// KIND-LABEL: module @stage3
// KIND: {graph.copy = 1 : i64}

// CHECK: func.func @forward
graph.parameter @w : tensor<3x6xf32> stacked from [#graph.source<"layers.{}.w", file = [6]>]
graph.parameter @bias : tensor<6xf32> from [#graph.source<"bias", file = [6]>]
func.func @forward(%x: tensor<2x8x6xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %w: tensor<3x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["layer", "hidden"]},
    %bias: tensor<6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "bias", graph.dims = ["hidden"]})
    -> (tensor<2x8x6xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.repeat 3 carry(%x : tensor<2x8x6xf32>) stack(%w : tensor<3x6xf32>) -> (tensor<2x8x6xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<2x8x6xf32>, %wi: tensor<6xf32>):
    %a = graph.mul %h, %wi : (tensor<2x8x6xf32>, tensor<6xf32>) -> tensor<2x8x6xf32>
    %b = graph.add %a, %bias : (tensor<2x8x6xf32>, tensor<6xf32>) -> tensor<2x8x6xf32>
    %c = graph.name %b "sum" ["batch", "seq", "hidden"] : tensor<2x8x6xf32>
    graph.yield %c : tensor<2x8x6xf32>
  }
  return %y : tensor<2x8x6xf32>
}
