// A product that adds a matrix writes its result in the matrix's place where nobody needs that any more; elsewhere it writes to a place of its own, and nothing is copied.
// RUN: llm-opt %s --kernels-to-exec --verify-exec-memory --exec-verify-order | FileCheck %s

// CHECK-LABEL: func.func @residual
// CHECK-DAG: %[[X:.*]] = exec.buffer at 0 :
// CHECK-DAG: %[[W:.*]] = exec.buffer at 1024 :
// CHECK-DAG: %[[Y:.*]] = exec.buffer at 2048 :
// CHECK-NOT: exec.copy
// An input stays as it is.
// CHECK: exec.matmul {{.*}} ins(%[[X]], %[[W]] {{.*}} addend(%[[X]] {{.*}} outs(%[[A:.*]] :
// CHECK-NEXT: exec.matmul {{.*}} ins(%[[X]], %[[W]] {{.*}} addend(%[[A]] {{.*}} outs(%[[A]] :
// What is multiplied is read while the result is written.
// CHECK-NEXT: exec.matmul {{.*}} ins(%[[A]], %[[W]] {{.*}} addend(%[[A]] {{.*}} outs(%[[Y]] :
// CHECK-NEXT: return
func.func @residual(%x: tensor<16x16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<16x16xf32> {graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<16x16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %e = tensor.empty() : tensor<16x16xf32>
  %a = exec.matmul m = 16 n = 16 k = 16 ins(%x, %w : tensor<16x16xf32>, tensor<16x16xf32>) addend(%x : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %b = exec.matmul m = 16 n = 16 k = 16 ins(%x, %w : tensor<16x16xf32>, tensor<16x16xf32>) addend(%a : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %c = exec.matmul m = 16 n = 16 k = 16 ins(%b, %w : tensor<16x16xf32>, tensor<16x16xf32>) addend(%b : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %c : tensor<16x16xf32>
}
