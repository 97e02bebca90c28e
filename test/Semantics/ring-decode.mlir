// Same numbers where the places of a ring lie over ranks: 17 places over 2, 3 and 5 ranks. Queries stand at -1 (they see nothing), 6, 13 and 20: before the first round of the ring is over, and
// behind it, where the keys in sight are at its end and its beginning.
// RUN: llm-judge %s --runs=3 --pipeline="tessera-shard{mesh=cp=2}"
// RUN: llm-judge %s --runs=3 --pipeline="tessera-shard{mesh=cp=3}"
// RUN: llm-judge %s --runs=3 --pipeline="tessera-shard{mesh=cp=5}"
// RUN: llm-judge %s --runs=3 --pipeline="tessera-shard{mesh=dp=2,cp=3}"
// RUN: llm-judge %s --rung=binary --mesh=cp=3
// RUN: llm-opt %s --tessera-shard="mesh=cp=2" | FileCheck %s

// Attention is written out: there are many keys for few queries.
// CHECK-NOT: graph.attention
// CHECK: graph.einsum
func.func @ring(%q: tensor<64x1x3x3x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<64x17x3x8xf32> {graph.kind = #graph.kind<state>, graph.name = "k", graph.dims = ["batch", "context", "kv_heads", "head_dim"]},
    %v: tensor<64x17x3x8xf32> {graph.kind = #graph.kind<state>, graph.name = "v", graph.dims = ["batch", "context", "kv_heads", "head_dim"]},
    %p: tensor<64x1xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]})
    -> (tensor<64x1x3x3x8xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}) {
  %step = graph.constant dense<7> : tensor<i32> : tensor<i32>
  %one = graph.constant dense<1> : tensor<i32> : tensor<i32>
  %later = graph.mul %p, %step : (tensor<64x1xi32>, tensor<i32>) -> tensor<64x1xi32>
  %at = graph.sub %later, %one : (tensor<64x1xi32>, tensor<i32>) -> tensor<64x1xi32>
  %a = graph.attention %q, %k, %v, %at ring scale = 0.35 {window = 12 : i64} : (tensor<64x1x3x3x8xf32>, tensor<64x17x3x8xf32>, tensor<64x17x3x8xf32>, tensor<64x1xi32>) -> tensor<64x1x3x3x8xf32>
  return %a : tensor<64x1x3x3x8xf32>
}
