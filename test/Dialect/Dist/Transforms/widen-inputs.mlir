// Integer inputs that ranks would gather come whole; who wants a part slices it, which moves nothing. Not where an item for that value, or the program, says
// how they lie, and not where nobody gathers them.
// RUN: llm-opt %s --dist-annotate="mesh=dp=2,sp=4 shard=pinned:seq=sp" --dist-propagate --dist-insert-reshards --dist-widen-inputs | FileCheck %s
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,sp=4 shard=pinned:seq=sp" | FileCheck %s --check-prefix=SPMD
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,sp=4 shard=pinned:seq=sp}"

// CHECK-LABEL: func.func @whole
// CHECK-SAME: %arg3: tensor<4x16xi32, #dist.sharding<@mesh, [{"dp"}, {}]>> {dist.seeded = #dist.sharding<@mesh, [{"dp"}, {"sp"}]>, graph.dims
// CHECK: %[[PART:.*]] = dist.reshard %arg3 {why = "each rank takes its part of what all are handed"} : {{.*}} -> tensor<4x16xi32, #dist.sharding<@mesh, [{"dp"}, {"sp"}]>>
// CHECK: graph.rope half %{{.*}}, %[[PART]]
// CHECK: graph.attention {{.*}}, %arg3 scale
// SPMD-LABEL: func.func @whole
// SPMD-COUNT-1: dist.all_slice %arg3 dim = 1 axes = {"sp"}
// SPMD-NOT: dist.all_gather %arg3
// SPMD: return
func.func @whole(%q: tensor<4x16x8x1x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<4x16x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<4x16x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]})
    -> (tensor<4x16x8x1x8xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}, tensor<4x16x8x1x8xf32> {graph.kind = #graph.kind<output>, graph.name = "r"}) {
  %r = graph.rope half %q, %p frequencies = [1.0, 0.1, 0.01, 0.001] : (tensor<4x16x8x1x8xf32>, tensor<4x16xi32>) -> tensor<4x16x8x1x8xf32>
  %n = graph.name %r "turned" ["batch", "seq", "kv_heads", "group", "head_dim"] : tensor<4x16x8x1x8xf32>
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<4x16x8x1x8xf32>, tensor<4x16x8x8xf32>, tensor<4x16x8x8xf32>, tensor<4x16xi32>) -> tensor<4x16x8x1x8xf32>
  return %a, %n : tensor<4x16x8x1x8xf32>, tensor<4x16x8x1x8xf32>
}

// CHECK-LABEL: func.func @told
// CHECK-SAME: %arg3: tensor<4x16xi32, #dist.sharding<@mesh, [{"dp"}, {"sp"}]>> {graph.dims
// CHECK-NOT: what all are handed
// SPMD-LABEL: func.func @told
// SPMD: dist.all_gather %arg3 dim = 1 axes = {"sp"}
func.func @told(%q: tensor<4x16x8x1x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q2", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<4x16x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k2", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<4x16x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v2", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "pinned", graph.dims = ["batch", "seq"]})
    -> (tensor<4x16x8x1x8xf32> {graph.kind = #graph.kind<output>, graph.name = "b"}) {
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<4x16x8x1x8xf32>, tensor<4x16x8x8xf32>, tensor<4x16x8x8xf32>, tensor<4x16xi32>) -> tensor<4x16x8x1x8xf32>
  return %a : tensor<4x16x8x1x8xf32>
}

// CHECK-LABEL: func.func @local
// CHECK-SAME: %arg0: tensor<4x16xi32, #dist.sharding<@mesh, [{"dp"}, {"sp"}]>> {graph.dims
// CHECK-NOT: dist.reshard
func.func @local(%p: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "ids", graph.dims = ["batch", "seq"]}) -> (tensor<4x16xi32> {graph.kind = #graph.kind<output>, graph.name = "d"}) {
  %d = graph.add %p, %p : (tensor<4x16xi32>, tensor<4x16xi32>) -> tensor<4x16xi32>
  return %d : tensor<4x16xi32>
}
