// Every elementwise op prints what it parses.
// RUN: llm-opt %s | llm-opt | FileCheck %s

// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // CHECK: graph.neg %{{.*}} : tensor<2x4xf32>
  %0 = graph.neg %x : tensor<2x4xf32>
  // CHECK: graph.abs
  %1 = graph.abs %0 : tensor<2x4xf32>
  // CHECK: graph.exp
  %2 = graph.exp %1 : tensor<2x4xf32>
  // CHECK: graph.log
  %3 = graph.log %2 : tensor<2x4xf32>
  // CHECK: graph.sqrt
  %4 = graph.sqrt %3 : tensor<2x4xf32>
  // CHECK: graph.rsqrt
  %5 = graph.rsqrt %4 : tensor<2x4xf32>
  // CHECK: graph.tanh
  %6 = graph.tanh %5 : tensor<2x4xf32>
  // CHECK: graph.sin
  %7 = graph.sin %6 : tensor<2x4xf32>
  // CHECK: graph.cos
  %8 = graph.cos %7 : tensor<2x4xf32>
  // CHECK: graph.erf
  %erf = graph.erf %8 : tensor<2x4xf32>
  // CHECK: graph.sigmoid
  %9 = graph.sigmoid %erf : tensor<2x4xf32>
  // CHECK: graph.silu
  %10 = graph.silu %9 : tensor<2x4xf32>
  // CHECK: graph.relu
  %11 = graph.relu %10 : tensor<2x4xf32>
  // CHECK: graph.gelu_erf
  %12 = graph.gelu_erf %11 : tensor<2x4xf32>
  // CHECK: graph.gelu_tanh
  %13 = graph.gelu_tanh %12 : tensor<2x4xf32>
  return %13 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @binary
func.func @binary(%x: tensor<2x4xf32>, %row: tensor<4xf32>, %one: tensor<1x1xf32>) -> tensor<2x4xf32> {
  // CHECK: graph.add %{{.*}}, %{{.*}} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %0 = graph.add %x, %row : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK: graph.sub %{{.*}} : (tensor<1x1xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = graph.sub %one, %0 : (tensor<1x1xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: graph.mul
  %2 = graph.mul %1, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: graph.div
  %3 = graph.div %2, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: graph.maximum
  %4 = graph.maximum %3, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: graph.minimum
  %5 = graph.minimum %4, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %5 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @choose
func.func @choose(%x: tensor<2x4xf32>, %i: tensor<4xi32>) -> tensor<2x4xbf16> {
  // CHECK: graph.cast %{{.*}} : (tensor<4xi32>) -> tensor<4xf32>
  %0 = graph.cast %i : (tensor<4xi32>) -> tensor<4xf32>
  // CHECK: graph.compare le %{{.*}}, %{{.*}} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xi1>
  %1 = graph.compare le %x, %0 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xi1>
  // CHECK: graph.select %{{.*}} : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = graph.select %1, %x, %0 : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %3 = graph.cast %2 : (tensor<2x4xf32>) -> tensor<2x4xbf16>
  return %3 : tensor<2x4xbf16>
}
