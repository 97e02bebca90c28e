// Gradients of ops by expert are others of them.
// RUN: llm-opt %s --graph-differentiate | FileCheck %s

// CHECK-LABEL: func.func @forward
// CHECK: %[[SHARES:.*]], %[[IDS:.*]] = graph.top_k
// CHECK: %[[ROWS:.*]] = graph.dispatch %{{.*}}, %[[IDS]] :
// CHECK: %[[INNER:.*]] = graph.tanh
// CHECK: %[[GIVEN:.*]] = graph.expert_linear %[[INNER]], %[[DOWN:.*]], %[[IDS]] :
// What was added up is spread, each row times its share; a share has the product with its row.
// CHECK: %[[SPREAD:.*]] = graph.dispatch %[[DY:.*]], %[[IDS]] weights %[[SHARES]] :
// CHECK: graph.chosen_dot %[[DY]], %[[GIVEN]], %[[IDS]] :
// CHECK: graph.expert_linear %[[SPREAD]], %[[DOWN]] transposed, %[[IDS]] :
// CHECK: graph.expert_outer %[[SPREAD]], %[[INNER]], %[[IDS]] :
// CHECK: %[[DROWS:.*]] = graph.expert_linear %{{.*}}, %{{.*}} transposed, %[[IDS]] :
// CHECK: graph.expert_outer %{{.*}}, %[[ROWS]], %[[IDS]] :
// What was spread is added up.
// CHECK: graph.combine %[[DROWS]], %[[IDS]], %{{.*}} :
// A value that was chosen goes back to where it stood.
// CHECK: graph.dispatch %{{.*}}, %[[IDS]] weights %{{.*}} : (tensor<4x1xf32>, tensor<4x2xi32>, tensor<4x2xf32>) -> tensor<4x5x1xf32>
func.func @forward(%x: tensor<4x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "x"},
    %router: tensor<5x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "router"},
    %up: tensor<5x6x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up"},
    %down: tensor<5x8x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down"}) -> (tensor<f32> {graph.name = "loss"}) {
  %scores = graph.linear %x, %router contract = 1 : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x5xf32>
  %shares, %ids = graph.top_k %scores : (tensor<4x5xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  %rows = graph.dispatch %x, %ids : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4x5x8xf32>
  %h = graph.expert_linear %rows, %up, %ids : (tensor<4x5x8xf32>, tensor<5x6x8xf32>, tensor<4x2xi32>) -> tensor<4x5x6xf32>
  %t = graph.tanh %h : tensor<4x5x6xf32>
  %d = graph.expert_linear %t, %down, %ids : (tensor<4x5x6xf32>, tensor<5x8x6xf32>, tensor<4x2xi32>) -> tensor<4x5x8xf32>
  %y = graph.combine %d, %ids, %shares : (tensor<4x5x8xf32>, tensor<4x2xi32>, tensor<4x2xf32>) -> tensor<4x8xf32>
  %l = graph.reduce sum %y dims = [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
