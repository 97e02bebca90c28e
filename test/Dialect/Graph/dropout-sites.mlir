// Dropout at the sites that a program marks: what each draws from, in loops and in micro-batches; and the entry that is left when it is taken out again.
// RUN: llm-opt %s --graph-build-train-step="batch=4 micro-batches=2 optimizer=sgd" --canonicalize --cse | FileCheck %s
// RUN: llm-opt %s --graph-build-train-step="batch=4 optimizer=sgd" --graph-leave-out-dropout | FileCheck %s --check-prefix=OUT
// RUN: sed 's/ drops//' %s | llm-opt - --graph-build-train-step="batch=4 optimizer=sgd" | FileCheck %s --check-prefix=PLAIN

graph.parameter @table : tensor<9x6xf32> from [#graph.source<"t", file = [9, 6]>]
graph.parameter @w : tensor<3x6x6xf32> stacked from [#graph.source<"w.{}", file = [6, 6]>]

// The entry takes the key of the step and the share. Layer l of 3 and sites 0, 1 and 2 have streams 3 l + site; rows of micro-batch m of 2 rows begin at 2 m.
// CHECK: func.func @train_dropout
// CHECK-SAME: %[[KEY:[a-z0-9]+]]: tensor<i64> {graph.fill = #graph.fill<dropout_key>, graph.kind = #graph.kind<input>, graph.name = "dropout_key"}
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<f32> {graph.fill = #graph.fill<dropout>, graph.kind = #graph.kind<input>, graph.name = "dropout"}
// CHECK-SAME: attributes {graph.role = #graph.role<train_dropout>}
// CHECK: graph.repeat 2 carry
// CHECK: %[[MICRO:.*]] = graph.cast %{{.*}} : (tensor<i32>) -> tensor<i64>
// CHECK: %[[FIRST:.*]] = graph.mul %[[MICRO]], %{{.*}} : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK: %[[ROW:.*]] = graph.iota dim = 0 : tensor<2x8x1xi64>
// CHECK: graph.add %[[ROW]], %[[FIRST]] : (tensor<2x8x1xi64>, tensor<i64>) -> tensor<2x8x1xi64>
// CHECK: %[[KEYS:.*]] = graph.random_key %[[KEY]],
// CHECK: graph.dropout %{{.*}} keys %[[KEYS]] columns %{{.*}} probability %[[P]] : (tensor<2x8x6xf32>, tensor<2x8x1xi64>, tensor<6xi32>, tensor<f32>) -> tensor<2x8x6xf32>
// CHECK: graph.repeat 3 carry
// CHECK: %[[LAYER:.*]] = graph.cast %{{.*}} : (tensor<i32>) -> tensor<i64>
// CHECK: graph.mul %[[LAYER]], %{{.*}} : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK: graph.attention {{.*}} dropout %{{.*}}, %[[P]] scale
// CHECK: graph.dropout
// Nothing is saved for it: backward draws again, in the same layers in reverse.
// CHECK: graph.repeat 3 reverse
// CHECK: graph.random_key %[[KEY]],
// CHECK: graph.attention_query_gradient {{.*}} dropout %{{.*}}, %[[P]] scale
// Evaluation drops nothing.
// CHECK: func.func @evaluate
// CHECK-NOT: dropout
// CHECK-NOT: drops

// Without the sites there is no trace of it.
// OUT: func.func @train(
// OUT-NOT: drop
// OUT-NOT: random_key
// OUT: func.func @train_dropout(
// OUT: random_key
// OUT: func.func @evaluate(
// PLAIN: func.func @train(
// PLAIN-NOT: drop
func.func @forward(%tokens: tensor<4x8xi32> {graph.dims = ["batch", "seq"], graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens"},
    %positions: tensor<4x8xi32> {graph.dims = ["batch", "seq"], graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>, graph.name = "positions"},
    %table: tensor<9x6xf32> {graph.dims = ["vocab", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "table"},
    %w: tensor<3x6x6xf32> {graph.dims = ["layer", "out", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "w"}) -> (tensor<4x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %0 = graph.embedding %table, %tokens : (tensor<9x6xf32>, tensor<4x8xi32>) -> tensor<4x8x6xf32>
  %1 = graph.name %0 "residual" ["batch", "seq", "hidden"] drops : tensor<4x8x6xf32>
  %2 = graph.repeat 3 carry(%1 : tensor<4x8x6xf32>) stack(%w : tensor<3x6x6xf32>) -> (tensor<4x8x6xf32>) {
  ^bb0(%layer: tensor<i32>, %h: tensor<4x8x6xf32>, %slice: tensor<6x6xf32>):
    %k = graph.reshape %h : (tensor<4x8x6xf32>) -> tensor<4x8x1x6xf32>
    %q = graph.reshape %h : (tensor<4x8x6xf32>) -> tensor<4x8x1x1x6xf32>
    %a = graph.attention %q, %k, %k, %positions scale = 0.4 drops : (tensor<4x8x1x1x6xf32>, tensor<4x8x1x6xf32>, tensor<4x8x1x6xf32>, tensor<4x8xi32>) -> tensor<4x8x1x1x6xf32>
    %flat = graph.reshape %a : (tensor<4x8x1x1x6xf32>) -> tensor<4x8x6xf32>
    %o = graph.linear %flat, %slice contract = 1 : (tensor<4x8x6xf32>, tensor<6x6xf32>) -> tensor<4x8x6xf32>
    %named = graph.name %o inner "attention_output" ["batch", "seq", "hidden"] drops : tensor<4x8x6xf32>
    %sum = graph.add %h, %named : (tensor<4x8x6xf32>, tensor<4x8x6xf32>) -> tensor<4x8x6xf32>
    graph.yield %sum : tensor<4x8x6xf32>
  }
  %3 = graph.linear %2, %table contract = 1 : (tensor<4x8x6xf32>, tensor<9x6xf32>) -> tensor<4x8x9xf32>
  return %3 : tensor<4x8x9xf32>
}
