// RUN: llm-opt %s --split-input-file --graph-differentiate="of=x,w prefix=grad." --tessera-to-exec | FileCheck %s --implicit-check-not=exec.copy --implicit-check-not=transpose_
// RUN: llm-opt %s --split-input-file --graph-differentiate="of=x,w prefix=grad." --tessera-to-exec=target=cuda | FileCheck %s --implicit-check-not=exec.copy --implicit-check-not=transpose_

// The products of backward read weights, activations with several leading dimensions and gradients as they lie: dX = dY W sums over what leads in W, dW = dY^T X
// over what leads in both. Nothing is copied for it.
// CHECK-LABEL: func.func @forward
// CHECK: exec.matmul m = 32 n = 40 k = 48 ins(%{{[0-9]+}}, %{{[0-9]+}} : memref<2x16x48xf32>, memref<40x48xf32>)
// CHECK: exec.matmul m = 32 n = 48 k = 40 ins(%{{[0-9]+}}, %{{[0-9]+}} transposed : memref<2x16x40xf32>, memref<40x48xf32>) outs(%{{[0-9]+}} : memref<2x16x48xf32>)
// CHECK: exec.matmul m = 40 n = 48 k = 32 ins(%{{[0-9]+}} transposed, %{{[0-9]+}} transposed : memref<2x16x40xf32>, memref<2x16x48xf32>) outs(%{{[0-9]+}} : memref<40x48xf32>)
// CHECK-NOT: exec.matmul
func.func @forward(%x: tensor<2x16x48xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<40x48xf32> {graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<f32> {graph.kind = #graph.kind<output>, graph.name = "loss"}) {
  %y = graph.linear %x, %w contract = 1 : (tensor<2x16x48xf32>, tensor<40x48xf32>) -> tensor<2x16x40xf32>
  %loss = graph.reduce sum %y dims = [0, 1, 2] : (tensor<2x16x40xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----
// The projections of attention, into [kv_heads, group, head_dim] and out of them.
// CHECK-LABEL: func.func @forward
// CHECK-DAG: ins(%{{[0-9]+}}, %{{[0-9]+}} transposed : memref<2x16x48xf32>, memref<48x3x2x8xf32>)
// CHECK-DAG: ins(%{{[0-9]+}}, %{{[0-9]+}} transposed : memref<2x16x3x2x8xf32>, memref<3x2x8x48xf32>)
// CHECK-DAG: ins(%{{[0-9]+}} transposed, %{{[0-9]+}} transposed : memref<2x16x3x2x8xf32>, memref<2x16x48xf32>)
// CHECK: return
func.func @forward(%x: tensor<2x16x48xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %w: tensor<3x2x8x48xf32> {graph.kind = #graph.kind<input>, graph.name = "w"}, %o: tensor<48x3x2x8xf32> {graph.kind = #graph.kind<input>, graph.name = "o"})
    -> (tensor<f32> {graph.kind = #graph.kind<output>, graph.name = "loss"}) {
  %q = graph.linear %x, %w contract = 1 : (tensor<2x16x48xf32>, tensor<3x2x8x48xf32>) -> tensor<2x16x3x2x8xf32>
  %t = graph.tanh %q : tensor<2x16x3x2x8xf32>
  %y = graph.linear %t, %o contract = 3 : (tensor<2x16x3x2x8xf32>, tensor<48x3x2x8xf32>) -> tensor<2x16x48xf32>
  %loss = graph.reduce sum %y dims = [0, 1, 2] : (tensor<2x16x48xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
