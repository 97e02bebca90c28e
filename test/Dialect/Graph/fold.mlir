// RUN: llm-opt %s --canonicalize | FileCheck %s
// RUN: llm-judge %s --entry=numbers --pipeline=canonicalize

// CHECK-LABEL: func.func @nothing_to_do
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]]
func.func @nothing_to_do(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = graph.reshape %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = graph.transpose %x [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = graph.cast %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @there_and_back
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>
// CHECK-NEXT: return %[[X]], %[[X]]
func.func @there_and_back(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %0 = graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %1 = graph.reshape %0 : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %2 = graph.transpose %x [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %3 = graph.transpose %2 [1, 2, 0] : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
  return %1, %3 : tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// Not the identity although the shape is: a square matrix turned round once.
// CHECK-LABEL: func.func @square
// CHECK: graph.transpose
func.func @square(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = graph.transpose %x [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// A cast that rounds is kept, there and back too.
// CHECK-LABEL: func.func @rounding
// CHECK-COUNT-2: graph.cast
func.func @rounding(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = graph.cast %x : (tensor<3xf32>) -> tensor<3xbf16>
  %1 = graph.cast %0 : (tensor<3xbf16>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// CHECK-LABEL: func.func @splat
// CHECK: %[[C:.*]] = graph.constant dense<2.000000e+00> : tensor<6xf32> : tensor<6xf32>
// CHECK: return %[[C]]
func.func @splat() -> tensor<6xf32> {
  %0 = graph.constant dense<2.0> : tensor<2x3xf32> : tensor<2x3xf32>
  %1 = graph.transpose %0 [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = graph.reshape %1 : (tensor<3x2xf32>) -> tensor<6xf32>
  return %2 : tensor<6xf32>
}

func.func @numbers(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<6xf32>, tensor<4x2x3xf32>) {
  %0 = graph.transpose %x [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = graph.transpose %0 [1, 2, 0] : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
  %2 = graph.transpose %0 [2, 0, 1] : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>
  %3 = graph.transpose %2 [1, 2, 0] : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  %c = graph.constant dense<2.0> : tensor<2x3xf32> : tensor<2x3xf32>
  %4 = graph.reshape %c : (tensor<2x3xf32>) -> tensor<6xf32>
  return %1, %4, %3 : tensor<2x3x4xf32>, tensor<6xf32>, tensor<4x2x3xf32>
}
