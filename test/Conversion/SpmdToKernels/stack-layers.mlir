// A cache that the first and the third of three bodies have: of seven layers it holds five. Their numbers are the host's, in the loop and, as constants, behind it; no
// kernel computes them.
// RUN: llm-opt %s --spmd-to-kernels | FileCheck %s --implicit-check-not=layer_number
// RUN: llm-opt %s --spmd-to-kernels --kernels-to-exec --verify-exec-memory | FileCheck %s --check-prefix=EXEC

// CHECK-LABEL: func.func @decode
// CHECK: exec.for %[[I:.*]] = 6 step 3 carry(%[[K:.*]] = %{{.*}} : tensor<5x1x32x2x8xf32>
// CHECK: %[[A:.*]] = exec.stack_layer %[[I]] period = 3 held = 2 before = 0
// CHECK: exec.launch @cache_update{{.*}} outs(%[[K]] : tensor<5x1x32x2x8xf32>) scalars(%[[A]])
// CHECK: %[[J:.*]] = exec.index_offset %[[I]], 2
// CHECK: %[[B:.*]] = exec.stack_layer %[[J]] period = 3 held = 2 before = 1
// CHECK: exec.launch @cache_update{{.*}} scalars(%[[B]])
// CHECK: exec.yield
// CHECK: %[[FOUR:.*]] = arith.constant 4 : index
// CHECK: exec.launch @cache_update{{.*}} scalars(%[[FOUR]])

// EXEC: exec.stack_layer
// EXEC-NOT: exec.copy {{.*}}memref<5x1x32x2x8xf32>
// EXEC: return
func.func @decode(%x: tensor<1x1x2x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %p: tensor<1x1xi32> {graph.kind = #graph.kind<input>, graph.name = "positions"},
    %k: tensor<5x1x32x2x8xf32> {graph.kind = #graph.kind<state>, graph.name = "k"})
    -> (tensor<1x1x2x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<5x1x32x2x8xf32> {graph.kind = #graph.kind<state>, graph.name = "k"}) {
  %r:2 = graph.repeat 7 carry(%k, %x : tensor<5x1x32x2x8xf32>, tensor<1x1x2x8xf32>) -> (tensor<5x1x32x2x8xf32>, tensor<1x1x2x8xf32>) {
  ^bb0(%i: tensor<i32>, %c: tensor<5x1x32x2x8xf32>, %h: tensor<1x1x2x8xf32>):
    %n = graph.stack_layer %i period = 3 held = 2 before = 0 : tensor<i32>
    %0 = graph.cache_update %c[%n], %h, %p : (tensor<5x1x32x2x8xf32>, tensor<1x1x2x8xf32>, tensor<i32>, tensor<1x1xi32>) -> tensor<5x1x32x2x8xf32>
    %1 = graph.layer_slice %0[%n] : (tensor<5x1x32x2x8xf32>, tensor<i32>) -> tensor<1x32x2x8xf32>
    %2 = graph.slice %1 at [0, 3, 0, 0] : (tensor<1x32x2x8xf32>) -> tensor<1x1x2x8xf32>
    %3 = graph.add %2, %h : (tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32>) -> tensor<1x1x2x8xf32>
    graph.yield %0, %3 : tensor<5x1x32x2x8xf32>, tensor<1x1x2x8xf32>
  }, {
  ^bb0(%i: tensor<i32>, %c: tensor<5x1x32x2x8xf32>, %h: tensor<1x1x2x8xf32>):
    %4 = graph.tanh %h : tensor<1x1x2x8xf32>
    graph.yield %c, %4 : tensor<5x1x32x2x8xf32>, tensor<1x1x2x8xf32>
  }, {
  ^bb0(%i: tensor<i32>, %c: tensor<5x1x32x2x8xf32>, %h: tensor<1x1x2x8xf32>):
    %n = graph.stack_layer %i period = 3 held = 2 before = 1 : tensor<i32>
    %0 = graph.cache_update %c[%n], %h, %p : (tensor<5x1x32x2x8xf32>, tensor<1x1x2x8xf32>, tensor<i32>, tensor<1x1xi32>) -> tensor<5x1x32x2x8xf32>
    %1 = graph.layer_slice %0[%n] : (tensor<5x1x32x2x8xf32>, tensor<i32>) -> tensor<1x32x2x8xf32>
    %2 = graph.slice %1 at [0, 3, 0, 0] : (tensor<1x32x2x8xf32>) -> tensor<1x1x2x8xf32>
    %3 = graph.add %2, %h : (tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32>) -> tensor<1x1x2x8xf32>
    graph.yield %0, %3 : tensor<5x1x32x2x8xf32>, tensor<1x1x2x8xf32>
  }
  return %r#1, %r#0 : tensor<1x1x2x8xf32>, tensor<5x1x32x2x8xf32>
}
