// RUN: llm-opt %s --dist-split-stage=splits-backward=true --split-input-file | FileCheck %s
// RUN: llm-opt %s --dist-split-stage --split-input-file | FileCheck %s --check-prefix=WHOLE

// A backward in two frees what only its first half reads: u. What the second half reads of forward stays, and has the name of its value; what it reads of the first half is there from that on.
// CHECK-LABEL: func.func @train_forward
// CHECK-SAME: {graph.holds = "u", graph.kind = #graph.kind<state>, graph.name = "freed.{{[0-9.]*}}", graph.slot = #graph.slot<until_input_gradient>}
// CHECK-SAME: {graph.holds = "x", graph.kind = #graph.kind<state>, graph.name = "kept.{{[0-9.]*}}", graph.slot = #graph.slot<whole>}

// t * u follows from forward, so it is made here, where t is made again anyway: one value is kept for the second half, not two.
// CHECK-LABEL: func.func @train_input_gradient
// CHECK-SAME: graph.holds = "gradient of y", {{[^}]*}}graph.slot = #graph.slot<from_input_gradient>}
// CHECK-SAME: graph.holds = "mlp", {{[^}]*}}graph.slot = #graph.slot<from_input_gradient>}
// CHECK: graph.repeat 2 reverse
// CHECK: %[[T:.*]] = graph.tanh
// CHECK: %[[MLP:.*]] = graph.mul %[[T]], %{{.*}}
// CHECK: graph.yield {{.*}}%[[MLP]]

// What is wider than what it is made of is made where it is read.
// CHECK-LABEL: func.func @train_weight_gradient
// CHECK-NOT: until_input_gradient
// CHECK: graph.repeat 2 reverse
// CHECK-NOT: graph.mul
// CHECK-NOT: graph.tanh
// CHECK: graph.cast
// CHECK: return

// A whole backward reads all of it.
// WHOLE-NOT: until_input_gradient
// WHOLE-NOT: from_input_gradient

dist.mesh @mesh = <["pp"=1]>
graph.parameter @w : tensor<2x4x4xf32> stacked variable from [#graph.source<"w.{}", file = [4, 4]>]
func.func @train(
    %x: tensor<2x3x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.fill = #graph.fill<received>, graph.dims = ["micro", "batch", "hidden"]},
    %g: tensor<2x3x4xf32> {graph.kind = #graph.kind<input>, graph.name = "grad.x", graph.fill = #graph.fill<received_gradient>, graph.dims = ["micro", "batch", "hidden"]},
    %total: tensor<f32> {graph.kind = #graph.kind<input>, graph.name = "sum.norm_squared", graph.fill = #graph.fill<stage_sum>},
    %w: tensor<2x4x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"})
    -> (tensor<2x3x4xf32> {graph.kind = #graph.kind<output>, graph.name = "x", graph.gives = #graph.gives<sent>},
        tensor<2x3x4xf32> {graph.kind = #graph.kind<output>, graph.name = "grad.x", graph.gives = #graph.gives<sent_gradient>},
        tensor<2x4x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"})
    attributes {graph.role = #graph.role<train>} {
  %zeros = graph.constant dense<0.0> : tensor<2x4x4xf32> : tensor<2x4x4xf32>
  %sum, %sent, %back = graph.repeat 2 carry(%zeros : tensor<2x4x4xf32>) stack(%x, %g : tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) attributes {graph.micro_batches} {
  ^bb0(%i: tensor<i32>, %so_far: tensor<2x4x4xf32>, %xi: tensor<3x4xf32>, %gi: tensor<3x4xf32>):
    %y, %us, %xs = graph.repeat 2 carry(%xi : tensor<3x4xf32>) stack(%w : tensor<2x4x4xf32>) -> (tensor<3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xbf16>) {
    ^bb0(%l: tensor<i32>, %in: tensor<3x4xf32>, %wl: tensor<4x4xf32>):
      %half = graph.cast %in : (tensor<3x4xf32>) -> tensor<3x4xbf16> loc(fused<"x">["forward"])
      %u = graph.linear %in, %wl contract = 1 : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32> loc(fused<"u">["forward"])
      %t = graph.tanh %u : tensor<3x4xf32>
      graph.yield %t, %u, %half : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xbf16>
    }
    %dx, %dw = graph.repeat 2 reverse carry(%gi : tensor<3x4xf32>) stack(%w, %us, %xs : tensor<2x4x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xbf16>) -> (tensor<3x4xf32>, tensor<2x4x4xf32>) {
    ^bb0(%l: tensor<i32>, %dy: tensor<3x4xf32>, %wl: tensor<4x4xf32>, %u: tensor<3x4xf32>, %half: tensor<3x4xbf16>):
      %t = graph.tanh %u : tensor<3x4xf32>
      %mlp = graph.mul %t, %u : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32> loc(fused<"mlp">["forward"])
      %dt = graph.mul %dy, %t : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
      %next = graph.linear %dt, %wl contract = 1 : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32> loc(fused<"gradient of y">["backward"])
      %wide = graph.cast %half : (tensor<3x4xbf16>) -> tensor<3x4xf32>
      %dwa = graph.einsum "ab,ac->bc" %dy, %mlp : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
      %dwb = graph.einsum "ab,ac->bc" %dy, %wide : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
      %dwl = graph.add %dwa, %dwb : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      graph.yield %next, %dwl : tensor<3x4xf32>, tensor<4x4xf32>
    }
    %more = graph.add %so_far, %dw : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    graph.yield %more, %y, %dx : tensor<2x4x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
  }
  %new = graph.sub %w, %sum : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %sent, %back, %new : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x4x4xf32>
}
