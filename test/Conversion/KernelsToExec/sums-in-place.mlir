// RUN: llm-opt %s --tessera-to-exec | FileCheck %s --implicit-check-not=exec.copy --implicit-check-not=exec.launch
// RUN: llm-opt %s --tessera-to-exec=target=cuda | FileCheck %s --implicit-check-not=exec.copy --implicit-check-not=exec.launch
// RUN: llm-judge %s --rung=exec
// RUN: llm-judge %s --rung=binary --runner=%build/bin/run-program-checked

// Gradients summed over micro-batches, of a stack of layers and of one weight: each product adds into the sum, which is the state all along. There is no buffer but
// the states and the inputs, no stack of a micro-batch's own, and nothing is copied.
// CHECK-LABEL: func.func @step
// CHECK-COUNT-5: exec.buffer
// CHECK-NOT: exec.buffer
// CHECK: exec.for
// CHECK: exec.for
// CHECK: %[[LAYER:.*]] = exec.layer %[[G:[0-9]+]][%[[J:[0-9]+]]] : memref<3x48x64xf32>
// CHECK: %[[PLACE:.*]] = exec.layer %[[G]][%[[J]]] : memref<3x48x64xf32>
// CHECK: exec.matmul m = 48 n = 64 k = 256 ins(%{{[0-9]+}} transposed, %{{[0-9]+}} transposed : memref<256x48xf32>, memref<256x64xf32>) addend(%[[LAYER]] : memref<48x64xf32>) outs(%[[PLACE]] : memref<48x64xf32>)
// CHECK: exec.matmul m = 48 n = 64 k = 256 ins(%{{[0-9]+}} transposed, %{{[0-9]+}} transposed : memref<256x48xf32>, memref<256x64xf32>) addend(%[[H:[0-9]+]] : memref<48x64xf32>) outs(%[[H]] : memref<48x64xf32>)
// CHECK: return
func.func @step(%x: tensor<4x256x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %dy: tensor<4x3x256x48xf32> {graph.kind = #graph.kind<input>, graph.name = "dy"},
    %dz: tensor<4x256x48xf32> {graph.kind = #graph.kind<input>, graph.name = "dz"}, %g0: tensor<3x48x64xf32> {graph.kind = #graph.kind<state>, graph.name = "g"},
    %h0: tensor<48x64xf32> {graph.kind = #graph.kind<state>, graph.name = "h"})
    -> (tensor<3x48x64xf32> {graph.kind = #graph.kind<state>, graph.name = "g"}, tensor<48x64xf32> {graph.kind = #graph.kind<state>, graph.name = "h"}) {
  %r:2 = graph.repeat 4 carry(%g0, %h0 : tensor<3x48x64xf32>, tensor<48x64xf32>)
      stack(%x, %dy, %dz : tensor<4x256x64xf32>, tensor<4x3x256x48xf32>, tensor<4x256x48xf32>) -> (tensor<3x48x64xf32>, tensor<48x64xf32>) {
  ^bb0(%i: tensor<i32>, %g: tensor<3x48x64xf32>, %h: tensor<48x64xf32>, %xi: tensor<256x64xf32>, %dyi: tensor<3x256x48xf32>, %dzi: tensor<256x48xf32>):
    %dw = graph.repeat 3 reverse carry() stack(%dyi : tensor<3x256x48xf32>) -> (tensor<3x48x64xf32>) {
    ^bb0(%j: tensor<i32>, %d: tensor<256x48xf32>):
      %p = graph.einsum "so,si->oi" %d, %xi : (tensor<256x48xf32>, tensor<256x64xf32>) -> tensor<48x64xf32>
      graph.yield %p : tensor<48x64xf32>
    }
    %sum = graph.add %g, %dw : (tensor<3x48x64xf32>, tensor<3x48x64xf32>) -> tensor<3x48x64xf32>
    %q = graph.einsum "so,si->oi" %dzi, %xi : (tensor<256x48xf32>, tensor<256x64xf32>) -> tensor<48x64xf32>
    %more = graph.add %q, %h : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x64xf32>
    graph.yield %sum, %more : tensor<3x48x64xf32>, tensor<48x64xf32>
  }
  return %r#0, %r#1 : tensor<3x48x64xf32>, tensor<48x64xf32>
}
