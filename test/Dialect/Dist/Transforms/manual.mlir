// Shardings over other axes spread into the region and out of it; the region is partitioned over those, and what its results are
// over manual axes is closed behind it.
// RUN: llm-opt %s --dist-propagate | FileCheck %s
// RUN: llm-opt %s --dist-propagate --dist-insert-reshards --verify-rung=rung=sharded | FileCheck %s --check-prefix=SHARDED
// RUN: llm-opt %s --dist-propagate --dist-insert-reshards --dist-partition --verify-rung=rung=spmd | FileCheck %s --check-prefix=SPMD
// RUN: llm-opt %s --pass-pipeline='builtin.module(tessera-shard)' | FileCheck %s --check-prefix=WHOLE

dist.mesh @mesh = <["a"=2, "b"=2]>

// Into the region behind the manual axis (M2), through it, and out again; the manual axis itself goes nowhere but outside.
// CHECK-LABEL: func.func @through
// CHECK: dist.manual_computation over {"b"}
// CHECK-SAME: in [#dist.sharding<@mesh, [{"b", "a"}, {}]>] out [#dist.sharding<@mesh, [{"b", "a"}, {}]>]
// CHECK: graph.tanh {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"a"}, {}]>]}
// SHARDED-LABEL: func.func @through
// SHARDED: ^bb0(%{{.*}}: tensor<16x32xf32, #dist.sharding<@mesh, [{"a"}, {}]>>):
// SPMD-LABEL: func.func @through
// SPMD: dist.manual_computation over {"b"} (%arg0 : tensor<8x32xf32, #dist.sharding<@mesh, [{"b", "a"}, {}], global=[32, 32]>>)
// SPMD: graph.tanh %{{.*}} : tensor<8x32xf32, #dist.sharding<@mesh, [{"a"}, {}], global=[16, 32]>>
func.func @through(%x: tensor<32x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"b", "a", ?}, {?}]>}) -> tensor<32x32xf32> {
  %0 = dist.manual_computation over {"b"} (%x : tensor<32x32xf32>) -> (tensor<32x32xf32>)
      in [#dist.sharding<@mesh, [{"b", ?}, {?}]>] out [#dist.sharding<@mesh, [{"b", ?}, {?}]>] {
  ^bb0(%p: tensor<16x32xf32>):
    %t = graph.tanh %p : tensor<16x32xf32>
    dist.manual_yield %t : tensor<16x32xf32>
  }
  return %0 : tensor<32x32xf32>
}

// 6 over b is 3, which a does not divide: a stays out of the boundary.
// CHECK-LABEL: func.func @does_not_divide
// CHECK: in [#dist.sharding<@mesh, [{"b"}]>] out [#dist.sharding<@mesh, [{"b"}]>]
// SHARDED-LABEL: func.func @does_not_divide
// SHARDED: dist.reshard %arg0 {{.*}} -> tensor<6xf32, #dist.sharding<@mesh, [{"b"}]>>
func.func @does_not_divide(%x: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"b", "a"}]>}) -> tensor<6xf32> {
  %0 = dist.manual_computation over {"b"} (%x : tensor<6xf32>) -> (tensor<6xf32>)
      in [#dist.sharding<@mesh, [{"b", ?}]>] out [#dist.sharding<@mesh, [{"b", ?}]>] {
  ^bb0(%p: tensor<3xf32>):
    dist.manual_yield %p : tensor<3xf32>
  }
  return %0 : tensor<6xf32>
}

// Terms along b are summed up behind the region, those along a in it.
// SPMD-LABEL: func.func @terms
// SPMD: dist.manual_computation
// SPMD: graph.linear
// SPMD: dist.all_reduce {{.*}} axes = {"a"}
// SPMD: dist.manual_yield
// SPMD: dist.all_reduce {{.*}} axes = {"b"}
func.func @terms(%x: tensor<4x32xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"b", "a"}]>}, %w: tensor<6x32xf32>)
    -> (tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = dist.manual_computation over {"b"} (%x, %w : tensor<4x32xf32>, tensor<6x32xf32>) -> (tensor<4x6xf32>)
      in [#dist.sharding<@mesh, [{}, {"b", "a"}]>, #dist.sharding<@mesh, [{}, {"b", ?}]>] out [#dist.sharding<@mesh, [{}, {}], partial=sum{"b"}>] {
  ^bb0(%p: tensor<4x16xf32>, %v: tensor<6x16xf32>):
    %t = graph.linear %p, %v contract = 1 : (tensor<4x16xf32>, tensor<6x16xf32>) -> tensor<4x6xf32>
    dist.manual_yield %t : tensor<4x6xf32>
  }
  return %0 : tensor<4x6xf32>
}

// A manual axis that an operand does not have is nobody's: it comes whole (M4).
// CHECK-LABEL: func.func @reserved
// CHECK: in [#dist.sharding<@mesh, [{"a"}, {}]>, #dist.sharding<@mesh, [{"b"}, {}]>] out [#dist.sharding<@mesh, [{"b"}, {}]>]
func.func @reserved(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {"b"}]>}, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = dist.manual_computation over {"b"} (%x, %y : tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>)
      in [#dist.sharding<@mesh, [{?}, {?}]>, #dist.sharding<@mesh, [{"b"}, {}]>] out [#dist.sharding<@mesh, [{"b"}, {}]>] {
  ^bb0(%p: tensor<8x4xf32>, %q: tensor<2x4xf32>):
    %m = graph.reduce max %p dims = [0] : (tensor<8x4xf32>) -> tensor<4xf32>
    %s = graph.add %q, %m : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    dist.manual_yield %s : tensor<2x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// One that takes nothing may stand in a loop, whose collectives are looked at for what is the same in every iteration.
// WHOLE-LABEL: func.func @of_nothing
// WHOLE: dist.manual_computation
// SPMD-LABEL: func.func @of_nothing
// SPMD: dist.manual_computation
func.func @of_nothing(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.repeat 3 carry(%x : tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<4x8xf32>):
    %m = dist.manual_computation over {"b"} () -> (tensor<4x8xf32>) in [] out [#dist.sharding<@mesh, [{}, {"b"}]>] {
      %c = graph.constant dense<1.0> : tensor<4x4xf32> : tensor<4x4xf32>
      dist.manual_yield %c : tensor<4x4xf32>
    }
    %s = graph.add %h, %m : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %s : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}
