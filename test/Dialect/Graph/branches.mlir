// RUN: llm-opt %s | llm-opt | FileCheck %s

// CHECK-LABEL: func.func @one_result
// CHECK: %[[R:.*]] = graph.if %arg0 : tensor<i1> -> (tensor<4x8xf32>) {
// CHECK:   %[[Y:.*]] = graph.tanh %arg1
// CHECK:   graph.branch_yield %[[Y]] : tensor<4x8xf32>
// CHECK: } else {
// CHECK:   graph.branch_yield %arg1 : tensor<4x8xf32>
// CHECK: }
func.func @one_result(%c: tensor<i1>, %x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = graph.if %c : tensor<i1> -> (tensor<4x8xf32>) {
    %y = graph.tanh %x : tensor<4x8xf32>
    graph.branch_yield %y : tensor<4x8xf32>
  } else {
    graph.branch_yield %x : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}
