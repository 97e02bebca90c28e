// What leads to the gradient of one operand alone is called after that operand, wherever it has its name: a weight, a layer of a stack, what a loop
// carries, a value with a name. What gradients of several operands are made of is called after what forward made of them.
// RUN: llm-opt %s --graph-name-calls --graph-differentiate --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
                   %first: tensor<8x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "first"},
                   %layers: tensor<3x8x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers.w"},
                   %scale: tensor<8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "scale"})
    -> (tensor<f32> {graph.kind = #graph.kind<output>, graph.name = "loss"}) {
  %h = graph.linear %x, %first contract = 1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %n = graph.name %h "hidden" ["row", "hidden"] : tensor<4x8xf32>
  %y = graph.repeat 3 carry(%n : tensor<4x8xf32>) stack(%layers : tensor<3x8x8xf32>) -> (tensor<4x8xf32>) {
  ^bb0(%i: tensor<i32>, %c: tensor<4x8xf32>, %w: tensor<8x8xf32>):
    %l = graph.linear %c, %w contract = 1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %r = graph.name %l "residual" ["row", "hidden"] : tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }
  // Backward: the product with what it scales has a term of each.
  // CHECK: graph.mul {{.*}} loc({{.*}}"gradient of residual">
  // CHECK: graph.reduce {{.*}} loc({{.*}}"gradient of scale">
  // CHECK: graph.repeat 3 reverse
  // CHECK-DAG: graph.einsum {{.*}} -> tensor<4x8xf32> loc({{.*}}"gradient of residual">
  // CHECK-DAG: graph.einsum {{.*}} -> tensor<8x8xf32> loc({{.*}}"gradient of layers.w">
  // CHECK: graph.yield
  // CHECK: graph.einsum {{.*}} -> tensor<8x8xf32> loc({{.*}}"gradient of first">
  %s = graph.mul %y, %scale : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %e = graph.name %s "scaled" ["row", "hidden"] : tensor<4x8xf32>
  %loss = graph.reduce sum %e dims = [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
