// Ops by expert print what they parse.
// RUN: llm-opt %s | llm-opt | FileCheck %s

// CHECK-LABEL: func.func @experts
func.func @experts(%x: tensor<2x3x8xbf16>, %scores: tensor<2x3x5xf32>, %up: tensor<5x12x8xbf16>, %down: tensor<5x8x12xf16>) -> tensor<2x3x8xbf16> {
  // CHECK: graph.top_k %{{.*}} : (tensor<2x3x5xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>)
  %weights, %ids = graph.top_k %scores : (tensor<2x3x5xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>)
  // CHECK: graph.dispatch %{{.*}}, %{{.*}} : (tensor<2x3x8xbf16>, tensor<2x3x2xi32>) -> tensor<2x3x5x8xbf16>
  %rows = graph.dispatch %x, %ids : (tensor<2x3x8xbf16>, tensor<2x3x2xi32>) -> tensor<2x3x5x8xbf16>
  // CHECK: graph.expert_linear %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x3x5x8xbf16>, tensor<5x12x8xbf16>, tensor<2x3x2xi32>) -> tensor<2x3x5x12xf32>
  %h = graph.expert_linear %rows, %up, %ids : (tensor<2x3x5x8xbf16>, tensor<5x12x8xbf16>, tensor<2x3x2xi32>) -> tensor<2x3x5x12xf32>
  %y = graph.expert_linear %h, %down, %ids : (tensor<2x3x5x12xf32>, tensor<5x8x12xf16>, tensor<2x3x2xi32>) -> tensor<2x3x5x8xf32>
  // CHECK: graph.combine %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x3x5x8xf32>, tensor<2x3x2xi32>, tensor<2x3x2xf32>) -> tensor<2x3x8xbf16>
  %z = graph.combine %y, %ids, %weights : (tensor<2x3x5x8xf32>, tensor<2x3x2xi32>, tensor<2x3x2xf32>) -> tensor<2x3x8xbf16>
  return %z : tensor<2x3x8xbf16>
}

// CHECK-LABEL: func.func @gradients
func.func @gradients(%dy: tensor<2x3x8xf32>, %rows: tensor<2x3x5x12xbf16>, %down: tensor<5x8x12xf16>, %ids: tensor<2x3x2xi32>, %weights: tensor<2x3x2xbf16>) -> (tensor<5x8x12xf32>, tensor<2x3x5x12xf32>, tensor<2x3x2xf32>) {
  // CHECK: graph.dispatch %{{.*}}, %{{.*}} weights %{{.*}} : (tensor<2x3x8xf32>, tensor<2x3x2xi32>, tensor<2x3x2xbf16>) -> tensor<2x3x5x8xbf16>
  %r = graph.dispatch %dy, %ids weights %weights : (tensor<2x3x8xf32>, tensor<2x3x2xi32>, tensor<2x3x2xbf16>) -> tensor<2x3x5x8xbf16>
  // CHECK: graph.expert_outer %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x3x5x8xbf16>, tensor<2x3x5x12xbf16>, tensor<2x3x2xi32>) -> tensor<5x8x12xf32>
  %dw = graph.expert_outer %r, %rows, %ids : (tensor<2x3x5x8xbf16>, tensor<2x3x5x12xbf16>, tensor<2x3x2xi32>) -> tensor<5x8x12xf32>
  // CHECK: graph.expert_linear %{{.*}}, %{{.*}} transposed, %{{.*}} : (tensor<2x3x5x8xbf16>, tensor<5x8x12xf16>, tensor<2x3x2xi32>) -> tensor<2x3x5x12xf32>
  %dx = graph.expert_linear %r, %down transposed, %ids : (tensor<2x3x5x8xbf16>, tensor<5x8x12xf16>, tensor<2x3x2xi32>) -> tensor<2x3x5x12xf32>
  // CHECK: graph.chosen_dot %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x3x8xf32>, tensor<2x3x5x8xbf16>, tensor<2x3x2xi32>) -> tensor<2x3x2xf32>
  %ds = graph.chosen_dot %dy, %r, %ids : (tensor<2x3x8xf32>, tensor<2x3x5x8xbf16>, tensor<2x3x2xi32>) -> tensor<2x3x2xf32>
  return %dw, %dx, %ds : tensor<5x8x12xf32>, tensor<2x3x5x12xf32>, tensor<2x3x2xf32>
}
