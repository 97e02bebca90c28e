// RUN: llm-opt %s --graph-differentiate --split-input-file | FileCheck %s
// RUN: llm-opt %s --graph-differentiate --split-input-file --remarks-filter=graph --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: llm-opt %s --graph-differentiate="of=x prefix=" --split-input-file | FileCheck %s --check-prefix=OF

// A product read twice has two terms in its gradient, the sum that is the loss repeats its own. The gradient of a parameter is called after it; one
// that the loss does not depend on has none.
// REMARK: gradient {{.*}}unused has no gradient: loss does not depend on it
// REMARK-NOT: no gradient
// CHECK-LABEL: func.func @forward
// CHECK-SAME: -> (tensor<f32> {graph.name = "loss"}, tensor<8xf32> {graph.kind = #graph.kind<output>, graph.name = "grad.w"})
// OF-LABEL: func.func @forward
// OF-SAME: -> (tensor<f32> {graph.name = "loss"}, tensor<4x8xf32> {graph.kind = #graph.kind<output>, graph.name = "x"})
func.func @forward(%x: tensor<4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"},
    %u: tensor<8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "unused"}) -> (tensor<f32> {graph.name = "loss"}) {
  // CHECK: %[[P:.*]] = graph.mul %arg0, %arg1
  // CHECK: %[[L:.*]] = graph.reduce sum
  // CHECK: %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<f32>
  // CHECK: %[[DM:.*]] = graph.broadcast %[[ONE]] dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  // CHECK-DAG: %[[A:.*]] = graph.mul %[[DM]], %[[P]]
  // CHECK: %[[DP:.*]] = graph.add
  // CHECK: %[[DW:.*]] = graph.mul %[[DP]], %arg0
  // CHECK: %[[S:.*]] = graph.reduce sum %[[DW]] dims = [0]
  // CHECK-NEXT: return %[[L]], %[[S]]
  %p = graph.mul %x, %w : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %m = graph.mul %p, %p : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %l = graph.reduce sum %m dims = [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Backward of a loop runs the other way, carries the gradient of what forward carries, reads the weights' stack again and returns the stack of their
// gradients. It reads h and u of forward's body, which come back as stacks; the name of u, which costs nothing, is written again. The sum of the shared
// scale's gradient is carried.
// CHECK-LABEL: func.func @forward
// CHECK: %[[F:.*]]:3 = graph.repeat 3 carry(%arg0 : tensor<4x8xf32>) stack(%arg1 : tensor<3x8x8xf32>) -> (tensor<4x8xf32>, tensor<3x4x8xf32>, tensor<3x4x8xf32>)
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %[[H:.*]]: tensor<4x8xf32>, %{{.*}}: tensor<8x8xf32>):
// CHECK: %[[U:.*]] = graph.linear
// CHECK: graph.yield %{{.*}}, %[[U]], %[[H]] :
// CHECK: %[[ZERO:.*]] = graph.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK: %[[B:.*]]:3 = graph.repeat 3 reverse carry(%{{.*}}, %[[ZERO]] : tensor<4x8xf32>, tensor<8xf32>) stack(%arg1, %[[F]]#1, %[[F]]#2 : {{.*}}) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<3x8x8xf32>)
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %{{.*}}: tensor<4x8xf32>, %[[SUM:.*]]: tensor<8xf32>, %{{.*}}: tensor<8x8xf32>, %[[KEPT:.*]]: tensor<4x8xf32>, %{{.*}}: tensor<4x8xf32>):
// CHECK: graph.name %[[KEPT]] "u"
// CHECK: %[[NEXT:.*]] = graph.add %[[SUM]],
// CHECK: graph.yield %{{.*}}, %[[NEXT]], %{{.*}} : tensor<4x8xf32>, tensor<8xf32>, tensor<8x8xf32>
// CHECK: return %{{.*}}, %[[B]]#2, %[[B]]#1
func.func @forward(%x: tensor<4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %w: tensor<3x8x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"},
    %scale: tensor<8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "scale"}) -> (tensor<f32> {graph.name = "loss"}) {
  %y = graph.repeat 3 carry(%x : tensor<4x8xf32>) stack(%w : tensor<3x8x8xf32>) -> (tensor<4x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<4x8xf32>, %wi: tensor<8x8xf32>):
    %u = graph.linear %h, %wi contract = 1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %n = graph.name %u "u" : tensor<4x8xf32>
    %s = graph.mul %n, %scale : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %next = graph.add %s, %h : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %next : tensor<4x8xf32>
  }
  %l = graph.reduce sum %y dims = [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
