// T11: half rotation is local by heads. Where the two halves of a head lie on other ranks, ranks with matching halves exchange what they hold, once: a permute of
// half a head over 2 ranks, of a quarter over 4, and nothing is gathered or exchanged. Neighbours in pairs lie on one rank: nothing is sent.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s --check-prefix=HEADS
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,a=2 shard=head_dim=a" | FileCheck %s --check-prefixes=HALVES,TWO
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,a=4 shard=head_dim=a" | FileCheck %s --check-prefixes=HALVES,FOUR
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,a=2 shard=head_dim=a" --remarks-filter=dist --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// 2 rows of 512 positions, 8 heads, half of 8 elements, 4 bytes each: half of what two ranks hold together.
// REMARK: collective_permute of [dp/-/-/a/-], 131072 bytes received per rank: rope changes the order of

// HEADS-LABEL: func.func @rope
// HEADS-NOT: dist.{{all|reduce|coll}}
// HEADS: graph.rope {{.*}} -> tensor<2x512x2x8xf32, #dist.sharding<@mesh, [{"dp"}, {}, {"tp"}, {}]
// HEADS-NOT: dist.{{all|reduce|coll}}
// HEADS-LABEL: func.func @adjacent

// HALVES-LABEL: func.func @rope
// HALVES-NOT: dist.{{all_g|all_r|all_t|reduce|coll}}
// TWO: dist.collective_permute %{{.*}} mirrored = {"a"} {{.*}} -> tensor<2x512x8x1x4xf32,
// FOUR: dist.collective_permute %{{.*}} mirrored = {"a":(1)2} {{.*}} -> tensor<2x512x8x1x2xf32,
// HALVES-NEXT: graph.reverse %{{.*}} dim = 3
// HALVES-NOT: dist.{{all_g|all_r|all_t|reduce|coll}}
// HALVES-LABEL: func.func @adjacent
// HALVES-NOT: dist.{{all_g|all_r|all_t|reduce|coll}}
func.func @rope(%x: tensor<4x512x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<4x512xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]}) -> (tensor<4x512x8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.rope half %x, %p frequencies = [1.0, 0.1, 0.01, 0.001] : (tensor<4x512x8x8xf32>, tensor<4x512xi32>) -> tensor<4x512x8x8xf32>
  %o = graph.name %y "out" ["batch", "seq", "kv_heads", "head_dim"] : tensor<4x512x8x8xf32>
  return %o : tensor<4x512x8x8xf32>
}
func.func @adjacent(%x: tensor<4x512x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<4x512xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]}) -> (tensor<4x512x8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.rope adjacent %x, %p frequencies = [1.0, 0.1, 0.01, 0.001] : (tensor<4x512x8x8xf32>, tensor<4x512xi32>) -> tensor<4x512x8x8xf32>
  %o = graph.name %y "out" ["batch", "seq", "kv_heads", "head_dim"] : tensor<4x512x8x8xf32>
  return %o : tensor<4x512x8x8xf32>
}
