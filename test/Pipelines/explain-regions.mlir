// Dimensions have their names in a region, too; what the region itself says beside its manual axes is a cause that can be left out, and a sum of terms that it yields is said to be its own.
// RUN: llm-opt %s --tessera-explain -o /dev/null 2>&1 | FileCheck %s --implicit-check-not="of operand 0:"

// CHECK: all_reduce over {a}
// CHECK-NEXT: between: linear {{.*}} and the caller
// CHECK-NEXT: disagree on: hidden: linear reduces over hidden, sharded over {a}
// CHECK: removed by: leaving out [-/b,a] of argument x {{.*}} and [-/a] of operand 0 of manual_computation
// CHECK: all_reduce over {b}
// CHECK-NEXT: between: manual_computation {{.*}} and the caller
// CHECK-NEXT: disagree on: what a program of one rank yields: manual_computation yields a sum over {b}; the caller needs the sum
// CHECK: removed by: no change of --shard, and nothing that the program says itself
dist.mesh @mesh = <["a"=2, "b"=2]>
func.func @terms(%x: tensor<4x8xf32> {graph.name = "x", graph.dims = ["batch", "hidden"], dist.sharding = #dist.sharding<@mesh, [{}, {"b", "a"}]>},
                 %w: tensor<6x8xf32> {graph.name = "w", graph.dims = ["out", "hidden"]})
    -> (tensor<4x6xf32> {graph.name = "y", dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = dist.manual_computation over {"b"} (%x, %w : tensor<4x8xf32>, tensor<6x8xf32>) -> (tensor<4x6xf32>)
      in [#dist.sharding<@mesh, [{}, {"b", "a"}]>, #dist.sharding<@mesh, [{}, {"b", ?}]>] out [#dist.sharding<@mesh, [{}, {}], partial=sum{"b"}>] {
  ^bb0(%p: tensor<4x4xf32>, %v: tensor<6x4xf32>):
    %t = graph.linear %p, %v contract = 1 : (tensor<4x4xf32>, tensor<6x4xf32>) -> tensor<4x6xf32>
    dist.manual_yield %t : tensor<4x6xf32>
  }
  return %0 : tensor<4x6xf32>
}
