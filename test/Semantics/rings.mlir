// Same numbers with keys in a ring, after sharding, also of the ring, and as programs; beside it the same with a cache of all positions. Rows stand at positions 5 to 8 and 8 to 10,
// all behind the first round of the ring of 7 = window + chunk: what they see in front of them was written by the chunk before.
// RUN: llm-judge %s
// RUN: llm-judge %s --pipeline="tessera-shard{}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=cp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=cp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=cp=2,dp=2}"
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --mesh=tp=2
// RUN: llm-judge %s --rung=binary --mesh=cp=3
func.func @attention(%x: tensor<2x4x10xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %before: tensor<2x4x10xf32> {graph.kind = #graph.kind<input>, graph.name = "before", graph.dims = ["batch", "seq", "hidden"]},
    %wq: tensor<3x2x4x10xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<3x4x10xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %c: tensor<1x2x12x3x4xf32> {graph.kind = #graph.kind<state>, graph.name = "cache", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]},
    %rc: tensor<1x2x7x3x4xf32> {graph.kind = #graph.kind<state>, graph.name = "ring", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]})
    -> (tensor<2x4x3x2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<2x4x3x2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "of_all_positions"},
        tensor<1x2x12x3x4xf32> {graph.kind = #graph.kind<state>, graph.name = "cache"}, tensor<1x2x7x3x4xf32> {graph.kind = #graph.kind<state>, graph.name = "ring"}) {
  %i = graph.constant dense<0> : tensor<i32> : tensor<i32>
  %four = graph.constant dense<4> : tensor<i32> : tensor<i32>
  %five = graph.constant dense<5> : tensor<i32> : tensor<i32>
  %three = graph.constant dense<3> : tensor<i32> : tensor<i32>
  %none = graph.constant dense<-1> : tensor<2x4xi32> : tensor<2x4xi32>
  %row = graph.iota dim = 0 : tensor<2x4xi32>
  %at = graph.iota dim = 1 : tensor<2x4xi32>
  %later = graph.mul %row, %three : (tensor<2x4xi32>, tensor<i32>) -> tensor<2x4xi32>
  %first = graph.add %at, %later : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi32>
  %p0 = graph.add %first, %five : (tensor<2x4xi32>, tensor<i32>) -> tensor<2x4xi32>
  // The last of the second row is padding.
  %end = graph.sub %four, %row : (tensor<i32>, tensor<2x4xi32>) -> tensor<2x4xi32>
  %text = graph.compare lt %at, %end : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
  %p = graph.select %text, %p0, %none : (tensor<2x4xi1>, tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi32>
  %pb = graph.sub %p0, %four : (tensor<2x4xi32>, tensor<i32>) -> tensor<2x4xi32>
  %q = graph.linear %x, %wq contract = 1 : (tensor<2x4x10xf32>, tensor<3x2x4x10xf32>) -> tensor<2x4x3x2x4xf32>
  %k = graph.linear %x, %wk contract = 1 : (tensor<2x4x10xf32>, tensor<3x4x10xf32>) -> tensor<2x4x3x4xf32>
  %kb = graph.linear %before, %wk contract = 1 : (tensor<2x4x10xf32>, tensor<3x4x10xf32>) -> tensor<2x4x3x4xf32>
  %c0 = graph.cache_update %c[%i], %kb, %pb : (tensor<1x2x12x3x4xf32>, tensor<2x4x3x4xf32>, tensor<i32>, tensor<2x4xi32>) -> tensor<1x2x12x3x4xf32>
  %c1 = graph.cache_update %c0[%i], %k, %p : (tensor<1x2x12x3x4xf32>, tensor<2x4x3x4xf32>, tensor<i32>, tensor<2x4xi32>) -> tensor<1x2x12x3x4xf32>
  %k1 = graph.layer_slice %c1[%i] : (tensor<1x2x12x3x4xf32>, tensor<i32>) -> tensor<2x12x3x4xf32>
  %a1 = graph.attention %q, %k1, %k1, %p scale = 0.5 {window = 3 : i64} : (tensor<2x4x3x2x4xf32>, tensor<2x12x3x4xf32>, tensor<2x12x3x4xf32>, tensor<2x4xi32>) -> tensor<2x4x3x2x4xf32>
  %r0 = graph.cache_update %rc[%i], %kb, %pb ring : (tensor<1x2x7x3x4xf32>, tensor<2x4x3x4xf32>, tensor<i32>, tensor<2x4xi32>) -> tensor<1x2x7x3x4xf32>
  %r1 = graph.cache_update %r0[%i], %k, %p ring : (tensor<1x2x7x3x4xf32>, tensor<2x4x3x4xf32>, tensor<i32>, tensor<2x4xi32>) -> tensor<1x2x7x3x4xf32>
  %k2 = graph.layer_slice %r1[%i] : (tensor<1x2x7x3x4xf32>, tensor<i32>) -> tensor<2x7x3x4xf32>
  %a2 = graph.attention %q, %k2, %k2, %p ring scale = 0.5 {window = 3 : i64} : (tensor<2x4x3x2x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x4xi32>) -> tensor<2x4x3x2x4xf32>
  return %a2, %a1, %c1, %r1 : tensor<2x4x3x2x4xf32>, tensor<2x4x3x2x4xf32>, tensor<1x2x12x3x4xf32>, tensor<1x2x7x3x4xf32>
}
