// What only makes a stored array wider is made again in each kernel that reads it: the sum of squares, and what is scaled by it, both read 16 bits.
// RUN: llm-opt %s --spmd-to-kernels | FileCheck %s

// CHECK-LABEL: func.func @scaled
// CHECK-SAME: %[[G:[a-z0-9]+]]: tensor<512x1024xbf16>
// CHECK: exec.launch @cast_mul_reduce_512 ins(%[[G]] : tensor<512x1024xbf16>) outs({{.*}} : tensor<512xf32>)
// CHECK: exec.launch @reduce{{.*}} -> tensor<f32>
// CHECK: exec.launch @cast_mul_512x1024 ins({{.*}}%[[G]]{{.*}}tensor<512x1024xbf16>
// CHECK-NOT: exec.launch
// CHECK: return
func.func @scaled(%g: tensor<512x1024xbf16> {graph.kind = #graph.kind<input>, graph.name = "g"}) -> (tensor<512x1024xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %wide = graph.cast %g : (tensor<512x1024xbf16>) -> tensor<512x1024xf32>
  %squares = graph.mul %wide, %wide : (tensor<512x1024xf32>, tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %rows = graph.reduce sum %squares dims = [1] : (tensor<512x1024xf32>) -> tensor<512xf32>
  %sum = graph.reduce sum %rows dims = [0] : (tensor<512xf32>) -> tensor<f32>
  %y = graph.mul %wide, %sum : (tensor<512x1024xf32>, tensor<f32>) -> tensor<512x1024xf32>
  return %y : tensor<512x1024xf32>
}
