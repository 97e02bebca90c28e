// RUN: llm-opt %s --graph-build-train-step="batch=6 max-seq-len=4 micro-batches=4 optimizer=adamw" --split-input-file | FileCheck %s
// RUN: llm-opt %s --graph-build-train-step="batch=6 micro-batches=1 optimizer=sgd" --split-input-file | FileCheck %s --check-prefix=SGD
// RUN: llm-opt %s --graph-build-train-step --split-input-file --remarks-filter=graph --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Six rows in four micro-batches are two rows each. What has two dimensions in the file decays; a bias that is split here does not, nor does a stack of norms.
// REMARK: gradient {{.*}}unused has no gradient: the loss does not depend on it, and it stays as it is
// REMARK-NOT: no gradient

// CHECK: module attributes {graph.train = #graph.train<batch = 6, seq = 4, micro_batches = 4, vocab = 9, flops_per_token = 324, gradient_state = "exp_avg">}
// CHECK: graph.parameter @table : tensor<9x6xf32> variable from
// CHECK-NEXT: graph.parameter @exp_avg.table : tensor<9x6xf32> variable from [#graph.source<"t", file = [9, 6]>] {graph.state_of = #graph.state_of<"exp_avg" of @table>}
// CHECK-NEXT: graph.parameter @exp_avg_sq.table : tensor<9x6xf32> variable from [#graph.source<"t", file = [9, 6]>] {graph.state_of = #graph.state_of<"exp_avg_sq" of @table>}
// CHECK: graph.parameter @norms : tensor<2x6xf32> stacked variable
// CHECK: graph.parameter @unused : tensor<6xf32> from
// SGD: graph.train = #graph.train<batch = 6, seq = 8, micro_batches = 1, vocab = 9, flops_per_token = 324, gradient_state = "momentum_buffer">
// SGD: graph.parameter @momentum_buffer.norms : tensor<2x6xf32> stacked variable
graph.parameter @table : tensor<9x6xf32> from [#graph.source<"t", file = [9, 6]>]
graph.parameter @norms : tensor<2x6xf32> stacked from [#graph.source<"n.{}", file = [6]>]
graph.parameter @bias : tensor<2x3xf32> from [#graph.source<"b", file = [6], reshape = [2, 3]>]
graph.parameter @unused : tensor<6xf32> from [#graph.source<"u", file = [6]>]

// CHECK: func.func @train(%arg0: tensor<4x2x4xi32> {graph.dims = ["micro", "batch", "seq"], graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens"},
// CHECK-SAME: %arg1: tensor<4x2x4xi32> {graph.dims = ["micro", "batch", "seq"], graph.fill = #graph.fill<targets>, graph.kind = #graph.kind<input>, graph.name = "targets"},
// CHECK-SAME: %[[WEIGHT:[a-z0-9]+]]: tensor<f32> {graph.fill = #graph.fill<token_weight>,
// CHECK-SAME: %[[RATE:[a-z0-9]+]]: tensor<f32> {graph.fill = #graph.fill<learning_rate>
// CHECK-SAME: %[[DECAY:[a-z0-9]+]]: tensor<f32> {graph.fill = #graph.fill<weight_decay>
// CHECK-SAME: #graph.fill<beta1>{{.*}}#graph.fill<beta2>{{.*}}#graph.fill<epsilon>{{.*}}#graph.fill<first_correction>{{.*}}#graph.fill<second_correction>
// CHECK-SAME: %[[CLIP:[a-z0-9]+]]: tensor<f32> {graph.fill = #graph.fill<clip>
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: tensor<9x6xf32> {graph.dims = ["vocab", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "table"}
// CHECK-SAME: %[[NORMS:[a-z0-9]+]]: tensor<2x6xf32>
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK-SAME: -> (tensor<f32> {graph.gives = #graph.gives<loss>, graph.kind = #graph.kind<output>, graph.name = "loss"}, tensor<f32> {graph.gives = #graph.gives<grad_norm>, graph.kind = #graph.kind<output>, graph.name = "grad_norm"},
// CHECK-SAME: tensor<9x6xf32> {graph.dims = ["vocab", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "table"},
// CHECK-SAME: graph.name = "exp_avg_sq.bias"})
// CHECK-SAME: attributes {graph.role = #graph.role<train>}
// Loss and three sums are carried; every micro-batch multiplies by the weight of a token.
// CHECK: %[[SUMS:.*]]:4 = graph.repeat 4 carry
// CHECK: graph.cross_entropy
// CHECK: %[[ROWS:.*]] = graph.reduce sum %{{.*}} dims = [1]
// CHECK: %[[ALL:.*]] = graph.reduce sum %[[ROWS]] dims = [0]
// CHECK: graph.mul %[[ALL]], %[[WEIGHT]]
// CHECK: graph.scatter_add
// CHECK-COUNT-4: graph.add %arg{{[0-9]+}}, %
// CHECK: graph.yield
// The norm is of the sums.
// CHECK: graph.mul %[[SUMS]]#1, %[[SUMS]]#1
// CHECK: graph.mul %[[SUMS]]#2, %[[SUMS]]#2
// CHECK: graph.mul %[[SUMS]]#3, %[[SUMS]]#3
// CHECK: %[[NORM:.*]] = graph.sqrt
// CHECK: %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[LITTLE:.*]] = graph.constant dense<9.99999997E-7> : tensor<f32>
// CHECK-NEXT: %[[MORE:.*]] = graph.add %[[NORM]], %[[LITTLE]]
// CHECK-NEXT: %[[BY:.*]] = graph.div %[[CLIP]], %[[MORE]]
// CHECK: %[[LESS:.*]] = graph.minimum %[[ONE]], %[[BY]]
// CHECK: %[[SCALE:.*]] = graph.select %{{.*}}, %[[LESS]], %[[ONE]]
// Where norm or loss is not finite, weights and states stay as they are.
// CHECK-NEXT: %[[BOTH:.*]] = graph.add %[[NORM]], %[[SUMS]]#0
// CHECK-NEXT: %[[INFINITY:.*]] = graph.constant dense<0x7F800000> : tensor<f32>
// CHECK-NEXT: %[[FINITE:.*]] = graph.compare lt %[[BOTH]], %[[INFINITY]]
// CHECK: graph.mul %[[SUMS]]#1, %[[SCALE]]
// CHECK: graph.mul %[[RATE]], %[[DECAY]]
// CHECK: graph.mul %[[TABLE]],
// CHECK: %[[NEW_TABLE:.*]] = graph.select %[[FINITE]], %{{.*}}, %[[TABLE]]
// CHECK-NEXT: %[[NEW_AVG:.*]] = graph.select %[[FINITE]], %{{.*}}, %arg15
// CHECK-NEXT: %[[NEW_AVG_SQ:.*]] = graph.select %[[FINITE]], %{{.*}}, %arg16
// CHECK-NOT: graph.mul %[[RATE]], %[[DECAY]]
// CHECK: return %[[SUMS]]#0, %[[NORM]], %[[NEW_TABLE]], %[[NEW_AVG]], %[[NEW_AVG_SQ]],

// CHECK: func.func @evaluate(
// CHECK-NOT: exp_avg
// CHECK: graph.role = #graph.role<evaluate>
// CHECK: graph.repeat 4 carry(%{{.*}} : tensor<f32>)
// CHECK-NOT: scatter_add
// CHECK: return

// With one micro-batch there is no loop but that of the layers.
// SGD: func.func @train(%arg0: tensor<1x6x8xi32>
// SGD-SAME: #graph.fill<learning_rate>{{.*}}#graph.fill<weight_decay>{{.*}}#graph.fill<momentum>{{.*}}#graph.fill<clip>
// SGD-NOT: beta1
// SGD: graph.reshape %arg0 : (tensor<1x6x8xi32>) -> tensor<6x8xi32>
// SGD-NOT: graph.repeat 1
// SGD: return
func.func @forward(%tokens: tensor<1x8xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"], graph.fill = #graph.fill<token_ids>},
    %table: tensor<9x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "hidden"]},
    %norms: tensor<2x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "norms", graph.dims = ["layer", "hidden"]},
    %bias: tensor<2x3xf32> {graph.kind = #graph.kind<parameter>, graph.name = "bias", graph.dims = ["heads", "head_dim"]},
    %unused: tensor<6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "unused", graph.dims = ["hidden"]})
    -> (tensor<1x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %table, %tokens : (tensor<9x6xf32>, tensor<1x8xi32>) -> tensor<1x8x6xf32>
  %y = graph.repeat 2 carry(%x : tensor<1x8x6xf32>) stack(%norms : tensor<2x6xf32>) -> (tensor<1x8x6xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<1x8x6xf32>, %n: tensor<6xf32>):
    %r = graph.rms_norm %h, %n eps = 1.0e-05 : (tensor<1x8x6xf32>, tensor<6xf32>) -> tensor<1x8x6xf32>
    %s = graph.add %h, %r : (tensor<1x8x6xf32>, tensor<1x8x6xf32>) -> tensor<1x8x6xf32>
    graph.yield %s : tensor<1x8x6xf32>
  }
  %b = graph.reshape %bias : (tensor<2x3xf32>) -> tensor<6xf32>
  %z = graph.add %y, %b : (tensor<1x8x6xf32>, tensor<6xf32>) -> tensor<1x8x6xf32>
  %l = graph.linear %z, %table contract = 1 : (tensor<1x8x6xf32>, tensor<9x6xf32>) -> tensor<1x8x9xf32>
  return %l : tensor<1x8x9xf32>
}
