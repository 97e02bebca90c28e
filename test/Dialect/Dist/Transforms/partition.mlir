// Local types, collectives instead of reshards, names gone.
// RUN: llm-opt %s --dist-partition --verify-rung=rung=spmd | FileCheck %s

dist.mesh @mesh = <["x"=2, "y"=4]>

// CHECK-LABEL: func.func @local_types
// CHECK-SAME: (%arg0: tensor<3x16xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 16]>>) -> tensor<3x16xf32, {{.*}}>
func.func @local_types(%x: tensor<5x16xf32, #dist.sharding<@mesh, [{"x"}, {}]>>) -> tensor<5x16xf32, #dist.sharding<@mesh, [{"x"}, {}]>> {
  // CHECK: graph.constant {{.*}} : tensor<16xf32, #dist.sharding<@mesh, [{}], global=[16]>>
  // CHECK: graph.mul
  // CHECK-NOT: graph.name
  %c = graph.constant dense<2.0> : tensor<16xf32> : tensor<16xf32, #dist.sharding<@mesh, [{}]>>
  %0 = graph.mul %x, %c : (tensor<5x16xf32, #dist.sharding<@mesh, [{"x"}, {}]>>, tensor<16xf32, #dist.sharding<@mesh, [{}]>>) -> tensor<5x16xf32, #dist.sharding<@mesh, [{"x"}, {}]>>
  %1 = graph.name %0 "y" : tensor<5x16xf32, #dist.sharding<@mesh, [{"x"}, {}]>>
  return %1 : tensor<5x16xf32, #dist.sharding<@mesh, [{"x"}, {}]>>
}

// A splat may be smaller on each rank.
// CHECK-LABEL: func.func @splat
func.func @splat() -> tensor<8xf32, #dist.sharding<@mesh, [{"y"}]>> {
  // CHECK: graph.constant dense<2.000000e+00> : {{.*}} : tensor<2xf32, #dist.sharding<@mesh, [{"y"}], global=[8]>>
  %c = graph.constant dense<2.0> : tensor<8xf32> : tensor<8xf32, #dist.sharding<@mesh, [{"y"}]>>
  return %c : tensor<8xf32, #dist.sharding<@mesh, [{"y"}]>>
}

!p = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
!w = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}]>>
!x0 = tensor<8x16xf32, #dist.sharding<@mesh, [{"x"}, {}]>>
!x1 = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {"x"}]>>
!y1 = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {"y"}]>>
!half = tensor<8x16xf32, #dist.sharding<@mesh, [{"y":(1)2}, {}]>>
!y0 = tensor<8x16xf32, #dist.sharding<@mesh, [{"y"}, {}]>>

// CHECK-LABEL: func.func @one_step
func.func @one_step(%p: !p, %w: !w, %x: !x0, %y: !y0) -> (!w, !x1, !x1, !w, !x1, !half, !half) {
  // CHECK: dist.all_reduce %arg0 axes = {"x"} {why = "sum"} : tensor<8x16xf32, {{.*}}partial=sum{"x"}, global=[8, 16]>> -> tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 16]>>
  %0 = dist.reshard %p {why = "sum"} : !p -> !w
  // CHECK: dist.reduce_scatter %arg0 dim = 1 axes = {"x"} {why = "piece of the sum"} : {{.*}} -> tensor<8x8xf32
  %1 = dist.reshard %p {why = "piece of the sum"} : !p -> !x1
  // CHECK: dist.all_slice %arg1 dim = 1 axes = {"x"} : {{.*}} -> tensor<8x8xf32
  %2 = dist.reshard %w : !w -> !x1
  // CHECK: dist.all_gather %arg2 dim = 0 axes = {"x"} : tensor<4x16xf32
  %3 = dist.reshard %x : !x0 -> !w
  // CHECK: dist.all_to_all %arg2 from = 0 to = 1 axes = {"x"} : tensor<4x16xf32{{.*}} -> tensor<8x8xf32
  %4 = dist.reshard %x : !x0 -> !x1
  // CHECK: dist.all_gather %arg3 dim = 0 axes = {"y":(2)2} : tensor<2x16xf32{{.*}} -> tensor<4x16xf32
  %5 = dist.reshard %y : !y0 -> !half
  // The same number of pieces, on other ranks.
  // CHECK: dist.collective_permute %arg2 : tensor<4x16xf32{{.*}} -> tensor<4x16xf32
  %6 = dist.reshard %x : !x0 -> !half
  return %0, %1, %2, %3, %4, %5, %6 : !w, !x1, !x1, !w, !x1, !half, !half
}

// Slice before gather: less travels.
// CHECK-LABEL: func.func @two_steps
func.func @two_steps(%x: !x0) -> !y1 {
  // CHECK: dist.all_slice %arg0 dim = 1 axes = {"y"}
  // CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"x"}
  %0 = dist.reshard %x : !x0 -> !y1
  return %0 : !y1
}

// A body and its edges become local together.
// CHECK-LABEL: func.func @loop
func.func @loop(%x: !x0, %s: tensor<3x16xf32, #dist.sharding<@mesh, [{}, {"y"}]>>) -> !x0 {
  // CHECK: graph.repeat 3 carry(%arg0 : tensor<4x16xf32, {{.*}}>) stack(%arg1 : tensor<3x4xf32, {{.*}}>)
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<i32, #dist.sharding<@mesh, []>>, %{{.*}}: tensor<4x16xf32, {{[^)]*}}>, %{{.*}}: tensor<4xf32, #dist.sharding<@mesh, [{"y"}], global=[16]>>)
  // CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"y"} : tensor<4xf32
  %r = graph.repeat 3 carry(%x : !x0) stack(%s : tensor<3x16xf32, #dist.sharding<@mesh, [{}, {"y"}]>>) -> (!x0) {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %h: !x0, %w: tensor<16xf32, #dist.sharding<@mesh, [{"y"}]>>):
    %0 = dist.reshard %w : tensor<16xf32, #dist.sharding<@mesh, [{"y"}]>> -> tensor<16xf32, #dist.sharding<@mesh, [{}]>>
    %1 = graph.mul %h, %0 : (!x0, tensor<16xf32, #dist.sharding<@mesh, [{}]>>) -> !x0
    graph.yield %1 : !x0
  }
  return %r : !x0
}

!r8a = tensor<16x8x8xf32, #dist.sharding<@mesh, [{"x"}, {}, {"y"}]>>
!r8b = tensor<16x8x8xf32, #dist.sharding<@mesh, [{}, {"y", "x"}, {}]>>

// R8: both axes move in one exchange among all eight ranks, not one after the other.
// CHECK-LABEL: func.func @r8
func.func @r8(%x: !r8a) -> !r8b {
  // CHECK-NEXT: dist.all_to_all %arg0 from = 2 to = 1 axes = {"y"}, from = 0 to = 1 axes = {"x"} : tensor<8x8x2xf32{{.*}} -> tensor<16x1x8xf32
  // CHECK-NEXT: return
  %0 = dist.reshard %x : !r8a -> !r8b
  return %0 : !r8b
}

// What is turned around is first exchanged over the axes of that dimension, and of no other.
!b = tensor<8x16xf32, #dist.sharding<@mesh, [{"y"}, {"x"}]>>
// CHECK-LABEL: func.func @reversed
func.func @reversed(%x: !b) -> !b {
  // CHECK: %[[M:.*]] = dist.collective_permute %arg0 mirrored = {"x"}
  // CHECK-NEXT: graph.reverse %[[M]] dim = 1
  %0 = graph.reverse %x dim = 1 : !b
  return %0 : !b
}
