// A result of branches has one sharding, from all of them and from behind; what a branch reads lies as outside; both are partitioned.
// RUN: llm-opt %s --dist-propagate | FileCheck %s
// RUN: llm-opt %s --dist-propagate --dist-insert-reshards --verify-rung=rung=sharded | FileCheck %s --check-prefix=SHARDED
// RUN: llm-opt %s --dist-propagate --dist-insert-reshards --dist-partition --dist-optimize-collectives --verify-rung=rung=spmd | FileCheck %s --check-prefix=SPMD

dist.mesh @mesh = <["x"=2, "y"=2]>

// Forward out of a branch, and backward into the other.
// CHECK-LABEL: func.func @spread
// CHECK-SAME: %arg2: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}
// CHECK-SAME: -> (tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
// CHECK: graph.if {{.*}} attributes {dist.block_shardings = {{\[}}[], []], dist.shardings = [#dist.sharding<@mesh, [{"x"}, {"y"}]>]}
func.func @spread(%c: tensor<i1>, %x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", ?}, {"y"}]>}, %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = graph.if %c : tensor<i1> -> (tensor<4x8xf32>) {
    %y = graph.tanh %x : tensor<4x8xf32>
    graph.branch_yield %y : tensor<4x8xf32>
  } else {
    graph.branch_yield %z : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

// The sum of one branch is made in it; the other one is resharded: neither happens where the branch is not taken.
// SHARDED-LABEL: func.func @communicate
// SHARDED: graph.if
// SHARDED: graph.linear {{.*}} partial=sum{"y"}
// SHARDED: dist.reshard {{.*}}what follows needs the sum
// SHARDED: } else {
// SHARDED: dist.reshard {{.*}}what follows needs
// SPMD-LABEL: func.func @communicate
// SPMD-NOT: = dist.
// SPMD: graph.if %arg0 : tensor<i1, {{.*}}> -> (tensor<2x8xf32,
// SPMD: graph.linear
// SPMD: dist.all_reduce
// SPMD: } else {
// SPMD: dist.all_slice
func.func @communicate(%c: tensor<i1>, %x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
                       %w: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
                       %z: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %r = graph.if %c : tensor<i1> -> (tensor<4x8xf32>) {
    %y = graph.linear %x, %w contract = 1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    graph.branch_yield %y : tensor<4x8xf32>
  } else {
    graph.branch_yield %z : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}
