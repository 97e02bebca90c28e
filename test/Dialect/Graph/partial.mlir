// A reduction in parts prints what it parses; what nobody reads goes.
// RUN: llm-opt %s | llm-opt | FileCheck %s
// RUN: llm-opt %s --canonicalize | FileCheck %s --check-prefix=DEAD
// CHECK-LABEL: func.func @largest
// DEAD-LABEL: func.func @largest
// DEAD: graph.partial
// DEAD-NOT: graph.partial
func.func @largest(%x: tensor<2x4096xf32>, %w: tensor<3x4096xf32>) -> tensor<2xi64> {
  // CHECK: %[[KEYS:.*]] = graph.partial 8 of 1(%{{.*}}) : (tensor<2x4096xf32>) -> tensor<8x2xi64> {
  // CHECK-NEXT: ^bb0(%[[ALL:.*]]: tensor<2x4096xf32>):
  // CHECK-NEXT: graph.arg_max_key %[[ALL]] : (tensor<2x4096xf32>) -> tensor<2xi64>
  // CHECK-NEXT: graph.part %{{.*}} : tensor<2xi64>
  // CHECK-NEXT: }
  %0 = graph.partial 8 of 1 (%x) : (tensor<2x4096xf32>) -> tensor<8x2xi64> {
  ^bb0(%all: tensor<2x4096xf32>):
    %key = graph.arg_max_key %all : (tensor<2x4096xf32>) -> tensor<2xi64>
    graph.part %key : tensor<2xi64>
  }
  // CHECK: graph.reduce max %[[KEYS]] dims = [0]
  %1 = graph.reduce max %0 dims = [0] : (tensor<8x2xi64>) -> tensor<2xi64>
  // CHECK: graph.partial 4 of 2(
  %2 = graph.partial 4 of 2 (%x, %w) : (tensor<2x4096xf32>, tensor<3x4096xf32>) -> tensor<4x2x3xf32> {
  ^bb0(%a: tensor<2x4096xf32>, %b: tensor<3x4096xf32>):
    %y = graph.linear %a, %b contract = 1 : (tensor<2x4096xf32>, tensor<3x4096xf32>) -> tensor<2x3xf32>
    graph.part %y : tensor<2x3xf32>
  }
  return %1 : tensor<2xi64>
}
