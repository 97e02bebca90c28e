// T11: half rotation is local by heads. Where the halves of a head lie on other ranks, the tensor is not gathered: it is exchanged for sequence and
// back, which over an axis of 2 moves as much as a permute of halves would (all a rank holds, once); over 4, 1.5 times that.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s --check-prefix=HEADS
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,a=2 shard=head_dim=a" | FileCheck %s --check-prefix=HALVES

// HEADS-LABEL: func.func @rope
// HEADS-NOT: dist.{{all|reduce|coll}}
// HEADS: graph.rope {{.*}} -> tensor<2x512x2x8xf32, #dist.sharding<@mesh, [{"dp"}, {}, {"tp"}, {}]
// HEADS-NOT: dist.{{all|reduce|coll}}

// HALVES-LABEL: func.func @rope
// HALVES-NOT: all_gather
// HALVES: dist.all_to_all %arg0 from = 3 to = 1 axes = {"a"}
// HALVES: graph.rope
// HALVES-NEXT: dist.all_to_all %{{.*}} from = 1 to = 3 axes = {"a"}
// HALVES-NOT: all_gather
func.func @rope(%x: tensor<4x512x8x8xf32> {graph.kind = "input", graph.name = "x", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<4x512xi32> {graph.kind = "input", graph.name = "positions", graph.dims = ["batch", "seq"]}) -> (tensor<4x512x8x8xf32> {graph.kind = "output", graph.name = "y"}) {
  %y = graph.rope half %x, %p frequencies = [1.0, 0.1, 0.01, 0.001] : (tensor<4x512x8x8xf32>, tensor<4x512xi32>) -> tensor<4x512x8x8xf32>
  %o = graph.name %y "out" ["batch", "seq", "kv_heads", "head_dim"] : tensor<4x512x8x8xf32>
  return %o : tensor<4x512x8x8xf32>
}
