// What a cast has rounded to 16 bits has a gradient as wide as the value had before: products sum in float32, and no rounding comes between.
// RUN: llm-opt %s --graph-differentiate="function=f loss=loss of=w" | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK: graph.einsum {{.*}} -> tensor<6x8xf32>
// CHECK-NOT: tensor<6x8xbf16>
// CHECK: return
func.func @f(%x: tensor<4x8xbf16> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<6x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"})
    -> (tensor<f32> {graph.kind = #graph.kind<output>, graph.name = "loss"}) {
  %narrow = graph.cast %w : (tensor<6x8xf32>) -> tensor<6x8xbf16>
  %y = graph.linear %x, %narrow contract = 1 : (tensor<4x8xbf16>, tensor<6x8xbf16>) -> tensor<4x6xf32>
  %loss = graph.reduce sum %y dims = [0, 1] : (tensor<4x6xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
