// Where logits would be larger than what layers hold, a step makes them, the loss and their gradients in parts of the positions.
// RUN: llm-opt %s --graph-build-train-step | FileCheck %s
// RUN: llm-opt %s --graph-build-train-step=max-seq-len=128 | FileCheck %s --check-prefix=FEW
// RUN: llm-opt %s --graph-build-train-step=loss-chunks=2 | FileCheck %s --check-prefix=TWO
// RUN: llm-opt %s --graph-build-train-step=loss-chunks=1 | FileCheck %s --check-prefix=WHOLE

graph.parameter @table : tensor<640x6xf32> from [#graph.source<"t", file = [640, 6]>]

// 640 <= 20 * 6 * 8: eight chunks, of 64 positions each. The chunk's part of the hidden values comes first; positions are the outer part of theirs.
// CHECK-LABEL: func.func @train
// CHECK: %[[PARTS:.*]] = graph.reshape %{{.*}} : (tensor<2x256x6xf32>) -> tensor<2x32x8x6xf32>
// CHECK: %[[STACK:.*]] = graph.transpose %[[PARTS]] [2, 0, 1, 3] : (tensor<2x32x8x6xf32>) -> tensor<8x2x32x6xf32>
// Sums of the loss and of the table's gradient, and parts of the hidden values' gradients. No logits are left whole.
// CHECK: %[[LOOP:.*]]:3 = graph.repeat 8 carry(%{{.*}}, %{{.*}} : tensor<f32>, tensor<640x6xf32>) stack(%[[STACK]], %{{.*}} : tensor<8x2x32x6xf32>, tensor<8x2x32xi32>) -> (tensor<f32>, tensor<640x6xf32>, tensor<8x2x32x6xf32>)
// CHECK: graph.linear {{.*}} -> tensor<2x32x640xf32>
// CHECK: graph.cross_entropy
// CHECK-NOT: tensor<2x256x640xf32>
// CHECK: graph.yield
// CHECK: graph.transpose %[[LOOP]]#2 [1, 2, 0, 3] : (tensor<8x2x32x6xf32>) -> tensor<2x32x8x6xf32>
// CHECK-NOT: tensor<2x256x640xf32>
// Evaluation has no gradients.
// CHECK-LABEL: func.func @evaluate
// CHECK: graph.repeat 8 carry(%{{.*}} : tensor<f32>) stack(%{{.*}}, %{{.*}} : tensor<8x2x32x6xf32>, tensor<8x2x32xi32>) -> (tensor<f32>) {

// At least 64 positions stay together.
// FEW: graph.repeat 4 {{.*}}tensor<4x2x32x6xf32>
// TWO: graph.repeat 2 {{.*}}tensor<2x2x128x6xf32>
// WHOLE-NOT: graph.repeat
func.func private @forward(%tokens: tensor<2x256xi32> {graph.dims = ["batch", "seq"], graph.kind = #graph.kind<input>, graph.name = "tokens", graph.fill = #graph.fill<token_ids>},
    %table: tensor<640x6xf32> {graph.dims = ["vocab", "hidden"], graph.kind = #graph.kind<parameter>, graph.name = "table"})
    -> (tensor<2x256x640xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %table, %tokens : (tensor<640x6xf32>, tensor<2x256xi32>) -> tensor<2x256x6xf32>
  %y = graph.linear %x, %table contract = 1 : (tensor<2x256x6xf32>, tensor<640x6xf32>) -> tensor<2x256x640xf32>
  return %y : tensor<2x256x640xf32>
}
