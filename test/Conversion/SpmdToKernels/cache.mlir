// Layers of a repeat become one loop over whole stacks; a cache is written in place, a layer of it read by a view. Through to rung exec no copy
// of a cache is left.
// RUN: llm-opt %s --spmd-to-kernels | FileCheck %s
// RUN: llm-opt %s --spmd-to-kernels --kernels-to-exec | FileCheck %s --check-prefix=EXEC

graph.parameter @n : tensor<5x2x8xf32> stacked from [#graph.source<"n.{}", file = [2, 8]>]

// CHECK-LABEL: func.func @decode
// CHECK: exec.for %[[I:.*]] = 4 step 2 carry(%[[K:.*]] = %{{.*}} : tensor<5x1x32x2x8xf32>, %[[X:.*]] = %{{.*}} : tensor<1x1x2x8xf32>)
// CHECK: exec.launch @[[UPDATE:cache_update[a-z0-9_]*]] ins(%[[X]], %{{.*}} : {{.*}}) outs(%[[K]] : tensor<5x1x32x2x8xf32>) scalars(%[[I]])
// The second body of the period sees the next layer.
// CHECK: %[[J:.*]] = exec.index_offset %[[I]], 1
// CHECK: exec.layer %{{.*}}[%[[J]]] : tensor<5x2x8xf32> -> tensor<2x8xf32>
// CHECK: exec.yield
// What is left of the period follows, with the same kernel.
// CHECK: %[[FOUR:.*]] = arith.constant 4 : index
// CHECK: exec.launch @[[UPDATE]] {{.*}} scalars(%[[FOUR]])
// CHECK: func.func private @[[UPDATE]]
// CHECK: scf.if

// EXEC-LABEL: func.func @decode
// EXEC-DAG: %[[CACHE:.*]] = exec.buffer at 0 {exec.holds = ["caches", "{{[a-z_]+}}"]} : memref<5x1x32x2x8xf32>
// EXEC-NOT: exec.copy {{.*}}memref<5x1x32x2x8xf32>
// EXEC: exec.for
// EXEC: exec.launch @cache_update{{.*}} outs(%[[CACHE]] : memref<5x1x32x2x8xf32>)
// EXEC: exec.layer %[[CACHE]]
// EXEC-NOT: exec.copy {{.*}}memref<5x1x32x2x8xf32>
// EXEC: return
func.func @decode(%x: tensor<1x1x2x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %p: tensor<1x1xi32> {graph.kind = #graph.kind<input>, graph.name = "positions"},
    %n: tensor<5x2x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "n"}, %k: tensor<5x1x32x2x8xf32> {graph.kind = #graph.kind<state>, graph.name = "k"})
    -> (tensor<1x1x2x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<5x1x32x2x8xf32> {graph.kind = #graph.kind<state>, graph.name = "k"}) {
  %r:2 = graph.repeat 5 carry(%k, %x : tensor<5x1x32x2x8xf32>, tensor<1x1x2x8xf32>) stack(%n : tensor<5x2x8xf32>) -> (tensor<5x1x32x2x8xf32>, tensor<1x1x2x8xf32>) {
  ^bb0(%i: tensor<i32>, %c: tensor<5x1x32x2x8xf32>, %h: tensor<1x1x2x8xf32>, %w: tensor<2x8xf32>):
    %0 = graph.cache_update %c[%i], %h, %p : (tensor<5x1x32x2x8xf32>, tensor<1x1x2x8xf32>, tensor<i32>, tensor<1x1xi32>) -> tensor<5x1x32x2x8xf32>
    %1 = graph.layer_slice %0[%i] : (tensor<5x1x32x2x8xf32>, tensor<i32>) -> tensor<1x32x2x8xf32>
    %2 = graph.slice %1 at [0, 3, 0, 0] : (tensor<1x32x2x8xf32>) -> tensor<1x1x2x8xf32>
    %3 = graph.add %2, %h : (tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32>) -> tensor<1x1x2x8xf32>
    graph.yield %0, %3 : tensor<5x1x32x2x8xf32>, tensor<1x1x2x8xf32>
  }, {
  ^bb0(%i: tensor<i32>, %c: tensor<5x1x32x2x8xf32>, %h: tensor<1x1x2x8xf32>, %w: tensor<2x8xf32>):
    %4 = graph.mul %h, %w : (tensor<1x1x2x8xf32>, tensor<2x8xf32>) -> tensor<1x1x2x8xf32>
    graph.yield %c, %4 : tensor<5x1x32x2x8xf32>, tensor<1x1x2x8xf32>
  }
  return %r#1, %r#0 : tensor<1x1x2x8xf32>, tensor<5x1x32x2x8xf32>
}
