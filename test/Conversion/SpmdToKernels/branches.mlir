// The host reads the condition, and one branch runs: the second where the first does not. What both branches give alike needs no choice.
// RUN: llm-opt %s --spmd-to-kernels | FileCheck %s
// RUN: llm-opt %s --spmd-to-kernels --kernels-to-exec --verify-exec-memory --exec-verify-order | FileCheck %s --check-prefix=EXEC --implicit-check-not=exec.copy

// CHECK-LABEL: func.func @f
// CHECK: %[[E:.*]] = tensor.empty() : tensor<64x128xf32>
// CHECK: %[[C:.*]] = exec.read_flag %arg0 : tensor<i1>
// CHECK: %[[NOT:.*]] = exec.index_offset %[[C]], 1 reverse
// CHECK: %[[TAKEN:.*]] = exec.for %{{.*}} = number(%[[C]]) in 0 to 1 step 1 carry(%{{.*}} = %[[E]] : tensor<64x128xf32>) {
// CHECK: %[[Y:.*]] = exec.launch @tanh
// CHECK: exec.yield %[[Y]]
// CHECK: %[[R:.*]] = exec.for %{{.*}} = number(%[[NOT]]) in 0 to 1 step 1 carry(%{{.*}} = %[[TAKEN]] : tensor<64x128xf32>) {
// CHECK: %[[Z:.*]] = exec.launch @sin
// CHECK: exec.yield %[[Z]]
// CHECK: return %[[R]], %arg1
// CHECK-NOT: select

// Each branch makes the result where it is wanted.
// EXEC-LABEL: func.func @f
// EXEC: exec.for
// EXEC-NEXT: exec.launch @tanh{{.*}} outs(%[[R:.*]] : memref<64x128xf32>)
// EXEC: exec.for
// EXEC-NEXT: exec.launch @sin{{.*}} outs(%[[R]] : memref<64x128xf32>)
func.func @f(%c: tensor<i1> {graph.kind = #graph.kind<input>, graph.name = "c"},
             %x: tensor<64x128xf32> {graph.kind = #graph.kind<state>, graph.name = "x"})
    -> (tensor<64x128xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<64x128xf32> {graph.kind = #graph.kind<state>, graph.name = "x"}) {
  %r:2 = graph.if %c : tensor<i1> -> (tensor<64x128xf32>, tensor<64x128xf32>) {
    %y = graph.tanh %x : tensor<64x128xf32>
    graph.branch_yield %y, %x : tensor<64x128xf32>, tensor<64x128xf32>
  } else {
    %z = graph.sin %x : tensor<64x128xf32>
    graph.branch_yield %z, %x : tensor<64x128xf32>, tensor<64x128xf32>
  }
  return %r#0, %r#1 : tensor<64x128xf32>, tensor<64x128xf32>
}
