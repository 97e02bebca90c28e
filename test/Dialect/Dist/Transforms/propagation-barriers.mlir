// What a barrier does not allow does not spread; nothing is left of it where reshards are.
// RUN: llm-opt %s --dist-propagate | FileCheck %s
// RUN: llm-opt %s --dist-propagate --dist-insert-reshards --verify-rung=rung=sharded | FileCheck %s --check-prefix=SHARDED

dist.mesh @mesh = <["x"=2, "y"=2]>

// SHARDED-NOT: dist.propagation_barrier

// CHECK-LABEL: func.func @forward
// CHECK-SAME: %arg0: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}
// CHECK: dist.propagation_barrier %arg0 forward {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {"y"}]>]}
// SHARDED-LABEL: func.func @forward
// SHARDED: dist.reshard %arg0 {{.*}} -> tensor<8x8xf32, #dist.sharding<@mesh, [{"x"}, {"y"}]>>
func.func @forward(%x: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", ?}, {?}]>})
    -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {"y", ?}]>}) {
  %0 = dist.propagation_barrier %x forward : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @backward
// CHECK-SAME: %arg0: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}
// CHECK-SAME: -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
func.func @backward(%x: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", ?}, {?}]>})
    -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {"y", ?}]>}) {
  %0 = dist.propagation_barrier %x backward : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @none
// CHECK-SAME: %arg0: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}
// CHECK-SAME: -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
func.func @none(%x: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", ?}, {?}]>})
    -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {"y", ?}]>}) {
  %0 = dist.propagation_barrier %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// A sum stays open through it: one reduction behind both.
// SHARDED-LABEL: func.func @open_sum
// SHARDED: graph.add {{.*}} partial=sum{"x"}
// SHARDED-NEXT: dist.reshard
// SHARDED-NOT: dist.reshard
// SHARDED: graph.silu
func.func @open_sum(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
                    %v: tensor<6x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
                    %w: tensor<6x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4x6xf32> {
  %0 = graph.linear %x, %v contract = 1 : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  %1 = dist.propagation_barrier %0 : tensor<4x6xf32>
  %2 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  %3 = graph.add %1, %2 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = graph.silu %3 : tensor<4x6xf32>
  return %4 : tensor<4x6xf32>
}
