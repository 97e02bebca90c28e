// The gradient of the result is an argument: the result may have any shape, and what comes behind it are products with its Jacobian.
// RUN: llm-opt %s --graph-differentiate="loss=y seed=dy of=x,w" --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @forward
// CHECK-SAME: -> (tensor<4x8xf32> {graph.name = "y"}, tensor<4x8xf32> {graph.kind = #graph.kind<output>, graph.name = "grad.x"}, tensor<8xf32> {graph.kind = #graph.kind<output>, graph.name = "grad.w"})
// CHECK-NEXT: %[[Y:.*]] = graph.mul %arg0, %arg2
// CHECK-NOT: graph.constant
// CHECK-DAG: %[[DX:.*]] = graph.mul %arg1, %arg2
// CHECK-DAG: %[[P:.*]] = graph.mul %arg1, %arg0
// CHECK: %[[DW:.*]] = graph.reduce sum %[[P]] dims = [0]
// CHECK-NEXT: return %[[Y]], %[[DX]], %[[DW]]
func.func @forward(%x: tensor<4x8xf32> {graph.name = "x"}, %dy: tensor<4x8xf32> {graph.name = "dy"}, %w: tensor<8xf32> {graph.name = "w"}) -> (tensor<4x8xf32> {graph.name = "y"}) {
  %y = graph.mul %x, %w : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// expected-error @+1 {{has no argument with graph.name = "dy"}}
func.func @forward(%x: tensor<4xf32> {graph.name = "x"}, %w: tensor<4xf32> {graph.name = "w"}) -> (tensor<4xf32> {graph.name = "y"}) {
  %y = graph.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{has dy as 'tensor<f32>', and gives y as 'tensor<4xf32>': a gradient has the type of its value, a float's}}
func.func @forward(%x: tensor<4xf32> {graph.name = "x"}, %dy: tensor<f32> {graph.name = "dy"}, %w: tensor<4xf32> {graph.name = "w"}) -> (tensor<4xf32> {graph.name = "y"}) {
  %y = graph.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
