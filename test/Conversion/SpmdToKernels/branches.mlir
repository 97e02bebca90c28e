// Both branches run, and the condition chooses: one kernel here.
// RUN: llm-opt %s --spmd-to-kernels | FileCheck %s
// CHECK-LABEL: func.func @f
// CHECK: %[[R:.*]] = exec.launch @[[K:.*]] ins(%arg1, %arg0 : tensor<64x128xf32>, tensor<i1>)
// CHECK-NEXT: return %[[R]]
// CHECK: func.func private @[[K]]
// CHECK: math.tanh
// CHECK: arith.select
func.func @f(%c: tensor<i1> {graph.kind = #graph.kind<input>, graph.name = "c"},
             %x: tensor<64x128xf32> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<64x128xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %r = graph.if %c : tensor<i1> -> (tensor<64x128xf32>) {
    %y = graph.tanh %x : tensor<64x128xf32>
    graph.branch_yield %y : tensor<64x128xf32>
  } else {
    graph.branch_yield %x : tensor<64x128xf32>
  }
  return %r : tensor<64x128xf32>
}
