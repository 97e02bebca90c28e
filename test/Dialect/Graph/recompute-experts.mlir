// Rows of experts are not saved where tokens are: dispatch runs again, as it moves rows and reads nothing whole but ids. Products do not, unless they are named.
// RUN: llm-opt %s --graph-differentiate | FileCheck %s
// RUN: llm-opt %s --graph-differentiate=recompute=inner,sum | FileCheck %s --check-prefix=AGAIN

// The tokens are what the loop carries, "sum" of the layer before.
// CHECK-LABEL: func.func @forward
// CHECK: graph.repeat 3 carry({{.*}} attributes {graph.saved = ["top_k#1", "top_k#0", "expert_linear", "inner", "sum"]}
// CHECK: graph.repeat 3 reverse
// CHECK-NOT: graph.top_k
// CHECK-NOT: graph.expert_linear {{.*}} : (tensor<4x5x8xf32>, tensor<5x6x8xf32>, tensor<4x2xi32>)
// CHECK: %[[ROWS:.*]] = graph.dispatch %{{[^ ,]*}}, %{{[^ ,]*}} :
// CHECK-NEXT: graph.expert_outer %{{.*}}, %[[ROWS]],
// CHECK: return

// AGAIN-LABEL: func.func @forward
// AGAIN: graph.repeat 3 carry({{.*}} attributes {graph.saved = ["sum"]}
// AGAIN: graph.repeat 3 reverse
// AGAIN: graph.top_k
// AGAIN: graph.expert_linear {{.*}} : (tensor<4x5x8xf32>, tensor<5x6x8xf32>, tensor<4x2xi32>)
// AGAIN: graph.expert_linear {{.*}} : (tensor<4x5x6xf32>, tensor<5x8x6xf32>, tensor<4x2xi32>)
// AGAIN: graph.chosen_dot
func.func @forward(%x: tensor<4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %router: tensor<3x5x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "router"},
    %up: tensor<3x5x6x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up"},
    %down: tensor<3x5x8x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down"}) -> (tensor<f32> {graph.name = "loss"}) {
  %y = graph.repeat 3 carry(%x : tensor<4x8xf32>) stack(%router, %up, %down : tensor<3x5x8xf32>, tensor<3x5x6x8xf32>, tensor<3x5x8x6xf32>) -> (tensor<4x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<4x8xf32>, %r: tensor<5x8xf32>, %u: tensor<5x6x8xf32>, %d: tensor<5x8x6xf32>):
    %scores = graph.linear %h, %r contract = 1 : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x5xf32>
    %shares, %ids = graph.top_k %scores : (tensor<4x5xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
    %rows = graph.dispatch %h, %ids : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4x5x8xf32>
    %0 = graph.expert_linear %rows, %u, %ids : (tensor<4x5x8xf32>, tensor<5x6x8xf32>, tensor<4x2xi32>) -> tensor<4x5x6xf32>
    %1 = graph.name %0 "inner" : tensor<4x5x6xf32>
    %2 = graph.silu %1 : tensor<4x5x6xf32>
    %3 = graph.expert_linear %2, %d, %ids : (tensor<4x5x6xf32>, tensor<5x8x6xf32>, tensor<4x2xi32>) -> tensor<4x5x8xf32>
    %4 = graph.combine %3, %ids, %shares : (tensor<4x5x8xf32>, tensor<4x2xi32>, tensor<4x2xf32>) -> tensor<4x8xf32>
    %5 = graph.name %4 "sum" : tensor<4x8xf32>
    graph.yield %5 : tensor<4x8xf32>
  }
  %l = graph.reduce sum %y dims = [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
