// A reshard that goes by views between its steps is explained by the ops that somebody wrote: a view is none, a reshape that was written is. What of a
// view is padded is called after what it is a view of.
// RUN: llm-opt %s --tessera-explain -o /dev/null 2>&1 | FileCheck %s --implicit-check-not="between: reshape" --implicit-check-not="] and reshape" --implicit-check-not="padding: dimension {{[0-9]}} of reshape"
// RUN: llm-opt %s --tessera-shard | FileCheck %s --check-prefix=VIEWS

dist.mesh @mesh = <["x"=2, "y"=2]>

// VIEWS-LABEL: func.func @views
// VIEWS: graph.reshape {{.*}} -> tensor<1x1x2x8xf32
// VIEWS: dist.all_to_all
// VIEWS: dist.all_to_all
// VIEWS: graph.reshape {{.*}} -> tensor<4x4xf32
// VIEWS: graph.exp
// CHECK: collective 1 of 5 (views): all_to_all over {x}
// CHECK-NEXT: between: neg (x) [{{.*}}] and exp [
// CHECK: collective 2 of 5 (views): all_to_all over {y}
// CHECK-NEXT: between: neg (x) [{{.*}}] and exp [
func.func @views(%x: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "a", dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = graph.neg %x : tensor<8x8xf32>
  %1 = dist.constraint %0 <@mesh, [{"x", "y"}, {}]> : tensor<8x8xf32>
  %2 = dist.constraint %1 <@mesh, [{"y"}, {"x"}]> : tensor<8x8xf32>
  %3 = graph.exp %2 : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// CHECK: (written): {{.*}}
// CHECK-NEXT: between: reshape (x) [{{.*}}] and the caller [
func.func @written(%x: tensor<4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x4xf32> {graph.kind = #graph.kind<output>, graph.name = "c", dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = graph.reshape %x : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK: padding: dimension 1 of all_to_all over x: from 5 to 6, 3 a rank
// CHECK-NEXT: in: all_to_all{{$}}
func.func @padded(%x: tensor<8x5xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<8x5xf32> {graph.kind = #graph.kind<output>, graph.name = "b", dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = graph.neg %x : tensor<8x5xf32>
  return %0 : tensor<8x5xf32>
}
