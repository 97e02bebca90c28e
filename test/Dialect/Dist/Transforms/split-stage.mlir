// RUN: llm-opt %s --dist-split-stage | FileCheck %s --check-prefixes=ALL,WHOLE
// RUN: llm-opt %s --dist-split-stage=splits-backward=true | FileCheck %s --check-prefixes=ALL,SPLIT

// What stands before the loop over micro-batches runs once: zeros of sums, and what is made of weights.
// ALL-LABEL: func.func @train_begin(%arg0: tensor<4x4xf32> {graph.kind = #graph.kind<parameter>
// ALL-SAME: "sum.0.0"{{.*}}"step.1.0"{{.*}}#graph.stage_part<begin>
// ALL: graph.cast
// ALL: return {{.*}} : tensor<4x4xf32>, tensor<4x4xbf16>

// Forward: what is sent. What is the same in every micro-batch is made again, not kept; what backward reads is kept in the slot, what was received too.
// ALL-LABEL: func.func @train_forward
// ALL-SAME: "step.1.0"
// ALL-SAME: %[[X:.*]]: tensor<3x4xf32> {graph.dims = ["batch", "hidden"], graph.fill = #graph.fill<received>
// ALL-SAME: graph.name = "kept.{{[^"]*}}", graph.slot
// ALL-SAME: graph.gives = #graph.gives<sent>
// ALL: graph.cast
// ALL: graph.linear
// ALL: %[[Z:.*]] = graph.tanh
// ALL-NEXT: return %[[Z]], %[[X]], %[[Z]]

// WHOLE-LABEL: func.func @train_backward
// WHOLE-SAME: graph.fill = #graph.fill<received_gradient>
// WHOLE-SAME: graph.gives = #graph.gives<sent_gradient>
// WHOLE: graph.mul
// WHOLE: graph.cast
// WHOLE: %[[DX:.*]] = graph.linear
// WHOLE: graph.linear
// WHOLE: %[[SUM:.*]] = graph.add
// WHOLE-NEXT: return %[[SUM]], %[[DX]]

// The gradient of the input, and what the weights' gradients are made of.
// SPLIT-LABEL: func.func @train_input_gradient
// SPLIT: %[[ZZ:.*]] = graph.mul
// SPLIT: %[[DX:.*]] = graph.linear
// SPLIT-NEXT: return %[[ZZ]], %[[DX]]
// SPLIT-LABEL: func.func @train_weight_gradient
// SPLIT-NEXT: graph.linear
// SPLIT-NEXT: graph.reduce
// SPLIT-NEXT: %[[SUM:.*]] = graph.add
// SPLIT-NEXT: return %[[SUM]]

// ALL-LABEL: func.func @train_sum
// ALL: %[[NORM:.*]] = graph.reduce
// ALL-NEXT: return %[[NORM]]
// ALL-LABEL: func.func @train_update
// ALL-SAME: graph.fill = #graph.fill<stage_sum>
// ALL: return %{{.*}} : tensor<4x4xf32>
// ALL-NOT: graph.repeat

dist.mesh @mesh = <["pp"=1]>
graph.parameter @w : tensor<4x4xf32> variable from [#graph.source<"w", file = [4, 4]>]
func.func @train(
    %x: tensor<2x3x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>, graph.dims = ["micro", "batch", "hidden"]},
    %g: tensor<2x3x4xf32> {graph.kind = #graph.kind<input>, graph.name = "grad.x", graph.fill = #graph.fill<received_gradient>, graph.dims = ["micro", "batch", "hidden"]},
    %rate: tensor<f32> {graph.kind = #graph.kind<input>, graph.name = "learning_rate", graph.fill = #graph.fill<learning_rate>},
    %total: tensor<f32> {graph.kind = #graph.kind<input>, graph.name = "sum.norm_squared", graph.fill = #graph.fill<stage_sum>},
    %w: tensor<4x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"})
    -> (tensor<2x3x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>},
        tensor<2x3x4xf32> {graph.kind = #graph.kind<output>, graph.name = "grad.x", graph.gives = #graph.gives<sent_gradient>},
        tensor<f32> {graph.kind = #graph.kind<output>, graph.name = "sum.norm_squared", graph.gives = #graph.gives<stage_sum>},
        tensor<4x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"})
    attributes {graph.role = #graph.role<train>} {
  %zeros = graph.constant dense<0.0> : tensor<4x4xf32> : tensor<4x4xf32>
  %half = graph.cast %w : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  %sum, %sent, %back = graph.repeat 2 carry(%zeros : tensor<4x4xf32>) stack(%x, %g : tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> (tensor<4x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) attributes {graph.micro_batches} {
  ^bb0(%i: tensor<i32>, %so_far: tensor<4x4xf32>, %xi: tensor<3x4xf32>, %gi: tensor<3x4xf32>):
    %wide = graph.cast %half : (tensor<4x4xbf16>) -> tensor<4x4xf32>
    %y = graph.linear %xi, %wide contract = 1 : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %z = graph.tanh %y : tensor<3x4xf32>
    %zz = graph.mul %z, %gi : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %dx = graph.linear %zz, %wide contract = 1 : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %dw = graph.linear %zz, %xi contract = 1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x3xf32>
    %s = graph.reduce sum %dw dims = [0, 1] : (tensor<3x3xf32>) -> tensor<f32>
    %next = graph.add %so_far, %s : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
    graph.yield %next, %z, %dx : tensor<4x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
  }
  %sq = graph.mul %sum, %sum : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %norm = graph.reduce sum %sq dims = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %scale = graph.mul %rate, %total : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %step = graph.mul %sum, %scale : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %new = graph.sub %w, %step : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %sent, %back, %norm, %new : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<f32>, tensor<4x4xf32>
}
