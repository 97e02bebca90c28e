// RUN: llm-opt %s --graph-cut-stages=stages=1,2,2,1 | FileCheck %s
// RUN: llm-opt %s --graph-cut-stages="stages=3,0,3 at=0,1,0" | FileCheck %s --check-prefix=EMPTY
// RUN: llm-opt %s --graph-cut-stages=stages=6 | FileCheck %s --check-prefix=ONE

// Two stages of two layers are one program; the others have an end each. Layers go by the file's numbers.
// CHECK: dist.pipeline @pipeline over "pp" = [#dist.stage<@stage0, first = 0, layers = 1, at = 0>, #dist.stage<@stage1, first = 1, layers = 2, at = 1>, #dist.stage<@stage1, first = 3, layers = 2, at = 2>, #dist.stage<@stage2, first = 5, layers = 1, at = 3>]

// The first stage has the tokens and the table. What the loop carries is sent, and so is the scale that follows from the table; positions follow from an input: nobody sends them.
// CHECK-LABEL: module @stage0
// CHECK: graph.parameter @w : tensor<1x6xf32> stacked from [#graph.source<"layers.{}.w"
// CHECK-NOT: graph.parameter @head
// CHECK: func.func @forward(%[[TABLE:.*]]: tensor<9x6xf32> {graph.dims = ["vocab", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "table"}
// CHECK-SAME: graph.fill = #graph.fill<token_ids>
// CHECK-SAME: -> (tensor<2x8x6xf32> {graph.dims = ["batch", "seq", "hidden"], graph.gives = #graph.gives<sent>, graph.kind = #graph.kind<output>, graph.name = "residual"}
// CHECK-SAME: tensor<6xf32> {{{.*}}graph.gives = #graph.gives<sent>, graph.kind = #graph.kind<output>, graph.name = "carried
// CHECK: graph.embedding
// CHECK: graph.repeat 1 carry

// CHECK-LABEL: module @stage1
// CHECK: graph.parameter @w : tensor<2x6xf32> stacked
// CHECK: func.func @forward(%[[IN:.*]]: tensor<2x8x6xf32> {graph.dims = ["batch", "seq", "hidden"], graph.fill = #graph.fill<received>, graph.kind = #graph.kind<input>, graph.name = "residual"}
// CHECK-SAME: graph.fill = #graph.fill<first_layer>
// CHECK-NOT: graph.embedding
// CHECK: graph.repeat 2 carry(%[[IN]]
// CHECK: ^bb0(%[[I:.*]]: tensor<i32>
// CHECK: %[[LAYER:.*]] = graph.add %[[I]], %
// CHECK: graph.cast %[[LAYER]]

// The last stage has the head, and gives what the model gives.
// CHECK-LABEL: module @stage2
// CHECK-DAG: graph.parameter @head
// CHECK-DAG: graph.parameter @w : tensor<1x6xf32> stacked
// CHECK: -> (tensor<2x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"})
// CHECK: graph.linear

// A stage without layers hands on what it receives.
// EMPTY: dist.pipeline @pipeline over "pp" = [#dist.stage<@stage0, first = 0, layers = 3, at = 0>, #dist.stage<@stage1, first = 3, layers = 0, at = 1>, #dist.stage<@stage2, first = 3, layers = 3, at = 0>]
// EMPTY-LABEL: module @stage1
// EMPTY-NOT: graph.repeat
// EMPTY: return %arg0, %arg1

// One stage is the program as it was.
// ONE: dist.pipeline @pipeline over "pp" = [#dist.stage<@stage0, first = 0, layers = 6, at = 0>]
// ONE-NOT: received
// ONE: graph.repeat 6 carry
// ONE: graph.linear

graph.parameter @table : tensor<9x6xf32> from [#graph.source<"table", file = [9, 6]>]
graph.parameter @w : tensor<6x6xf32> stacked from [#graph.source<"layers.{}.w", file = [6]>]
graph.parameter @head : tensor<9x6xf32> from [#graph.source<"head", file = [9, 6]>]
func.func @forward(%tokens: tensor<2x8xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"], graph.fill = #graph.fill<token_ids>},
    %positions: tensor<2x8xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"], graph.fill = #graph.fill<positions>},
    %table: tensor<9x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "hidden"]},
    %w: tensor<6x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["layer", "hidden"]},
    %head: tensor<9x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "head", graph.dims = ["vocab", "hidden"]})
    -> (tensor<2x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %table, %tokens : (tensor<9x6xf32>, tensor<2x8xi32>) -> tensor<2x8x6xf32>
  %scale = graph.reduce sum %table dims = [0] : (tensor<9x6xf32>) -> tensor<6xf32>
  %float = graph.cast %positions : (tensor<2x8xi32>) -> tensor<2x8xf32>
  %place = graph.reshape %float : (tensor<2x8xf32>) -> tensor<2x8x1xf32>
  %y = graph.repeat 6 carry(%x : tensor<2x8x6xf32>) stack(%w : tensor<6x6xf32>) -> (tensor<2x8x6xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<2x8x6xf32>, %wi: tensor<6xf32>):
    %number = graph.cast %i : (tensor<i32>) -> tensor<f32>
    %a = graph.mul %h, %wi : (tensor<2x8x6xf32>, tensor<6xf32>) -> tensor<2x8x6xf32>
    %b = graph.add %a, %number : (tensor<2x8x6xf32>, tensor<f32>) -> tensor<2x8x6xf32>
    %c = graph.mul %b, %scale : (tensor<2x8x6xf32>, tensor<6xf32>) -> tensor<2x8x6xf32>
    %d = graph.mul %c, %place : (tensor<2x8x6xf32>, tensor<2x8x1xf32>) -> tensor<2x8x6xf32>
    %e = graph.name %d "residual" ["batch", "seq", "hidden"] : tensor<2x8x6xf32>
    graph.yield %e : tensor<2x8x6xf32>
  }
  %logits = graph.linear %y, %head contract = 1 : (tensor<2x8x6xf32>, tensor<9x6xf32>) -> tensor<2x8x9xf32>
  return %logits : tensor<2x8x9xf32>
}
