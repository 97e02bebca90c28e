// Dimensions have their names in a region, too; what the region itself says beside its manual axes is a cause that can be left out, and a sum of terms that it yields is said to be its own: the
// region decides. What asks for the whole is a cause, and what a branch yields goes to who reads its result.
// RUN: llm-opt %s --tessera-explain -o /dev/null 2>&1 | FileCheck %s --implicit-check-not="of operand 0:"

// CHECK: all_reduce over {a}
// CHECK-NEXT: between: linear {{.*}} and the caller
// CHECK-NEXT: disagree on: hidden: linear reduces over hidden, sharded over {a}
// CHECK: removed by: leaving out [-/b,a] of argument x {{.*}} and [-/a] of operand 0 of manual_computation
// CHECK: all_reduce over {b}
// CHECK-NEXT: between: manual_computation {{.*}} and the caller
// CHECK-NEXT: disagree on: what a program of one rank yields: manual_computation yields a sum over {b}; the caller needs the sum
// CHECK: removed by: no change of --shard and no sharding less in the program: decided by manual_computation over {b} [{{.*}}explain-regions.mlir:{{[0-9]+}}:8]{{$}}
// CHECK: all_gather over {b}
// CHECK-NEXT: between: manual_computation [{{.*}} and the caller
// CHECK: removed by: leaving out [-/-] of result z
// CHECK: all_reduce over {a}
// CHECK-NEXT: between: reduce (v) {{.*}} and cos [
// CHECK: removed by: leaving out [-/a] of argument v
dist.mesh @mesh = <["a"=2, "b"=2]>
func.func @terms(%x: tensor<4x32xf32> {graph.name = "x", graph.dims = ["batch", "hidden"], dist.sharding = #dist.sharding<@mesh, [{}, {"b", "a"}]>},
                 %w: tensor<6x32xf32> {graph.name = "w", graph.dims = ["out", "hidden"]})
    -> (tensor<4x6xf32> {graph.name = "y", dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = dist.manual_computation over {"b"} (%x, %w : tensor<4x32xf32>, tensor<6x32xf32>) -> (tensor<4x6xf32>)
      in [#dist.sharding<@mesh, [{}, {"b", "a"}]>, #dist.sharding<@mesh, [{}, {"b", ?}]>] out [#dist.sharding<@mesh, [{}, {}], partial=sum{"b"}>] {
  ^bb0(%p: tensor<4x16xf32>, %v: tensor<6x16xf32>):
    %t = graph.linear %p, %v contract = 1 : (tensor<4x16xf32>, tensor<6x16xf32>) -> tensor<4x6xf32>
    dist.manual_yield %t : tensor<4x6xf32>
  }
  return %0 : tensor<4x6xf32>
}

func.func @whole(%x: tensor<4x8xf32> {graph.name = "u"}) -> (tensor<4x8xf32> {graph.name = "z", dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = dist.manual_computation over {"b"} (%x : tensor<4x8xf32>) -> (tensor<4x8xf32>) in [#dist.sharding<@mesh, [{"b"}, {?}]>] out [#dist.sharding<@mesh, [{"b"}, {?}]>] {
  ^bb0(%p: tensor<2x8xf32>):
    %t = graph.tanh %p : tensor<2x8xf32>
    dist.manual_yield %t : tensor<2x8xf32>
  }
  return %0 : tensor<4x8xf32>
}
func.func @branch(%n: tensor<i32>, %x: tensor<4x8xf32> {graph.name = "v", dist.sharding = #dist.sharding<@mesh, [{}, {"a"}]>}) -> tensor<4xf32> {
  %four = graph.constant dense<4> : tensor<i32> : tensor<i32>
  %c = graph.compare lt %n, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %0 = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    %s = graph.reduce sum %x dims = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
    graph.branch_yield %s : tensor<4xf32>
  } else {
    %m = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
    graph.branch_yield %m : tensor<4xf32>
  }
  %1 = graph.cos %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
