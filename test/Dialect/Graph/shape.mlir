// Every shape op prints what it parses.
// RUN: llm-opt %s | llm-opt | FileCheck %s

// CHECK-LABEL: func.func @create
func.func @create() -> (tensor<2x3xf32>, tensor<2xi32>, tensor<2x3xi32>) {
  // CHECK: graph.constant dense<1.000000e+00> : tensor<2x3xf32> : tensor<2x3xf32>
  %0 = graph.constant dense<1.0> : tensor<2x3xf32> : tensor<2x3xf32>
  // CHECK: graph.constant dense<[1, 2]> : tensor<2xi32> : tensor<2xi32>
  %1 = graph.constant dense<[1, 2]> : tensor<2xi32> : tensor<2xi32>
  // CHECK: graph.iota dim = 1 : tensor<2x3xi32>
  %2 = graph.iota dim = 1 : tensor<2x3xi32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<2xi32>, tensor<2x3xi32>
}

// CHECK-LABEL: func.func @move
func.func @move(%x: tensor<2x3x4xf32>, %row: tensor<4xf32>) -> tensor<4x2x3xf32> {
  // CHECK: graph.reshape %{{.*}} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %0 = graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  // CHECK: graph.broadcast %{{.*}} dims = [1] : (tensor<4xf32>) -> tensor<6x4xf32>
  %1 = graph.broadcast %row dims = [1] : (tensor<4xf32>) -> tensor<6x4xf32>
  %2 = graph.mul %0, %1 : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %3 = graph.reshape %2 : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.transpose %{{.*}} [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %4 = graph.transpose %3 [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  return %4 : tensor<4x2x3xf32>
}

// CHECK-LABEL: func.func @pieces
func.func @pieces(%x: tensor<2x8x3xf32>, %i: tensor<2xi32>, %layer: tensor<i32>) -> (tensor<2x1x3xf32>, tensor<8x3xf32>) {
  // CHECK: graph.slice %{{.*}} at [0, 2, 0] : (tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
  %0 = graph.slice %x at [0, 2, 0] : (tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
  // CHECK: graph.reverse %{{.*}} dim = 1 : tensor<2x4x3xf32>
  %r = graph.reverse %0 dim = 1 : tensor<2x4x3xf32>
  // CHECK: graph.concat %{{.*}}, %{{.*}} dim = 1 : (tensor<2x4x3xf32>, tensor<2x8x3xf32>) -> tensor<2x12x3xf32>
  %1 = graph.concat %0, %x dim = 1 : (tensor<2x4x3xf32>, tensor<2x8x3xf32>) -> tensor<2x12x3xf32>
  // CHECK: graph.take %{{.*}}, %{{.*}} : (tensor<2x12x3xf32>, tensor<2xi32>) -> tensor<2x1x3xf32>
  %2 = graph.take %1, %i : (tensor<2x12x3xf32>, tensor<2xi32>) -> tensor<2x1x3xf32>
  // CHECK: %[[N:.*]] = graph.stack_layer %{{.*}} period = 6 held = 5 before = 3 : tensor<i32>
  %n = graph.stack_layer %layer period = 6 held = 5 before = 3 : tensor<i32>
  // CHECK: graph.layer_slice %{{.*}}[%[[N]]] : (tensor<2x8x3xf32>, tensor<i32>) -> tensor<8x3xf32>
  %3 = graph.layer_slice %x[%n] : (tensor<2x8x3xf32>, tensor<i32>) -> tensor<8x3xf32>
  return %2, %3 : tensor<2x1x3xf32>, tensor<8x3xf32>
}

// CHECK-LABEL: func.func @reduce_and_mark
func.func @reduce_and_mark(%x: tensor<2x8x3xf32>) -> (tensor<2xf32>, tensor<2x8xf32>) {
  // CHECK: graph.mask_padding %{{.*}} dims = [1, 2] value = 0.000000e+00 : tensor<2x8x3xf32>
  %0 = graph.mask_padding %x dims = [1, 2] value = 0.0 : tensor<2x8x3xf32>
  // CHECK: graph.reduce sum %{{.*}} dims = [1, 2] : (tensor<2x8x3xf32>) -> tensor<2xf32>
  %1 = graph.reduce sum %0 dims = [1, 2] : (tensor<2x8x3xf32>) -> tensor<2xf32>
  // CHECK: graph.name %{{.*}} "residual" ["batch", "seq", "hidden"] : tensor<2x8x3xf32>
  %2 = graph.name %x "residual" ["batch", "seq", "hidden"] : tensor<2x8x3xf32>
  // CHECK: graph.name %{{.*}} "again" : tensor<2x8x3xf32>
  %3 = graph.name %2 "again" : tensor<2x8x3xf32>
  // CHECK: graph.reduce max
  %4 = graph.reduce max %3 dims = [2] : (tensor<2x8x3xf32>) -> tensor<2x8xf32>
  return %1, %4 : tensor<2xf32>, tensor<2x8xf32>
}
