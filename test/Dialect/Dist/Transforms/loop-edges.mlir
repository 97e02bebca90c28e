// What a loop carries has one sharding; where the outside or the body have another, reshards stand at the loop's edges.
// RUN: llm-opt %s --dist-insert-reshards --verify-rung=rung=sharded | FileCheck %s
// RUN: llm-opt %s --dist-insert-reshards --dist-partition | FileCheck %s --check-prefix=SPMD

dist.mesh @mesh = <["x"=4, "y"=2]>

// C6: carried [y], initial value [x], the body begins in [y] and ends in [x]: x to y before the loop, and before the yield. Carried as [x] it would send as much.
// CHECK-LABEL: func.func @c6
// SPMD-LABEL: func.func @c6
func.func @c6(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  // CHECK: %[[INIT:.*]] = dist.reshard %arg0 {{.*}}[{"x"}, {}]>> -> tensor<8x4xf32, #dist.sharding<@mesh, [{"y"}, {}]>>
  // CHECK-NEXT: graph.repeat 3 {{.*}}carry(%[[INIT]] : tensor<8x4xf32, #dist.sharding<@mesh, [{"y"}, {}]>>)
  %r = graph.repeat 3 carry(%x : tensor<8x4xf32>) -> (tensor<8x4xf32>)
      attributes {dist.shardings = [#dist.sharding<@mesh, [{"y"}, {}]>],
                  dist.block_shardings = [[#dist.sharding<@mesh, []>, #dist.sharding<@mesh, [{"y"}, {}]>]]} {
  ^bb0(%i: tensor<i32>, %h: tensor<8x4xf32>):
    // CHECK: %[[MADE:.*]] = graph.exp %{{.*}} : tensor<8x4xf32, #dist.sharding<@mesh, [{"y"}, {}]>>
    // CHECK-NEXT: %[[IN:.*]] = dist.reshard %[[MADE]] {{.*}} -> tensor<8x4xf32, #dist.sharding<@mesh, [{"x"}, {}]>>
    // CHECK-NEXT: %[[OUT:.*]] = graph.sin %[[IN]]
    // CHECK-NEXT: %[[YIELD:.*]] = dist.reshard %[[OUT]] {{.*}} -> tensor<8x4xf32, #dist.sharding<@mesh, [{"y"}, {}]>>
    // CHECK-NEXT: graph.yield %[[YIELD]]
    %0 = dist.constraint %h <@mesh, [{"y"}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{"y"}, {}]>]} : tensor<8x4xf32>
    %e = graph.exp %0 {dist.shardings = [#dist.sharding<@mesh, [{"y"}, {}]>]} : tensor<8x4xf32>
    %m = dist.constraint %e <@mesh, [{"y"}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{"y"}, {}]>]} : tensor<8x4xf32>
    %n = dist.constraint %m <@mesh, [{"x"}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<8x4xf32>
    %1 = graph.sin %n {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<8x4xf32>
    %2 = dist.constraint %1 <@mesh, [{"x"}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<8x4xf32>
    graph.yield %2 : tensor<8x4xf32>
  }
  // CHECK: return %{{.*}} : tensor<8x4xf32, #dist.sharding<@mesh, [{"y"}, {}]>>
  // SPMD: return %{{.*}} : tensor<4x4xf32, #dist.sharding<@mesh, [{"y"}, {}], global=[8, 4]>>
  return %r : tensor<8x4xf32>
}

// C8: as C6, but all of the body is in [x]: so is what it carries, and only what comes out goes to y.
// CHECK-LABEL: func.func @c8
// SPMD-LABEL: func.func @c8
func.func @c8(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  // CHECK-NEXT: %[[LOOP:.*]] = graph.repeat 3 {{.*}}carry(%arg0 : tensor<8x4xf32, #dist.sharding<@mesh, [{"x"}, {}]>>)
  %r = graph.repeat 3 carry(%x : tensor<8x4xf32>) -> (tensor<8x4xf32>)
      attributes {dist.shardings = [#dist.sharding<@mesh, [{"y"}, {}]>],
                  dist.block_shardings = [[#dist.sharding<@mesh, []>, #dist.sharding<@mesh, [{"y"}, {}]>]]} {
  ^bb0(%i: tensor<i32>, %h: tensor<8x4xf32>):
    // CHECK-NOT: dist.reshard
    // CHECK: graph.yield
    %0 = dist.constraint %h <@mesh, [{"x"}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<8x4xf32>
    %1 = graph.exp %0 {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<8x4xf32>
    %2 = dist.constraint %1 <@mesh, [{"x"}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<8x4xf32>
    graph.yield %2 : tensor<8x4xf32>
  }
  // CHECK: dist.reshard %[[LOOP]]
  return %r : tensor<8x4xf32>
}

// C7: nothing is said of the carried value: it lies whole, and so does what comes in.
// CHECK-LABEL: func.func @c7
// SPMD-LABEL: func.func @c7
func.func @c7(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  // CHECK: %[[INIT:.*]] = dist.reshard %arg0 {{.*}}[{"x"}, {}]>> -> tensor<8x4xf32, #dist.sharding<@mesh, [{}, {}]>>
  // CHECK-NEXT: graph.repeat 3 {{.*}}carry(%[[INIT]] : tensor<8x4xf32, #dist.sharding<@mesh, [{}, {}]>>)
  // SPMD: dist.all_gather %arg0 dim = 0 axes = {"x"}
  // SPMD-NOT: dist.all
  %r = graph.repeat 3 carry(%x : tensor<8x4xf32>) -> (tensor<8x4xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8x4xf32>):
    // CHECK-NOT: dist.reshard
    %1 = graph.exp %h : tensor<8x4xf32>
    graph.yield %1 : tensor<8x4xf32>
  }
  // CHECK: return %{{.*}} : tensor<8x4xf32, #dist.sharding<@mesh, [{}, {}]>>
  return %r : tensor<8x4xf32>
}
