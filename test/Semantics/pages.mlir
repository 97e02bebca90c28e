// Same numbers with keys that a random table of pages finds, after sharding, also of the context, and as programs; beside it the same without pages.
// RUN: llm-judge %s
// RUN: llm-judge %s --pipeline="tessera-shard{}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=cp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=cp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=cp=2,dp=2}"
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --mesh=cp=3
func.func @attention(%x: tensor<2x4x10xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<2x4xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %wq: tensor<3x2x4x10xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<3x4x10xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %c: tensor<1x2x12x3x4xf32> {graph.kind = #graph.kind<state>, graph.name = "cache", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]},
    %pc: tensor<1x2x12x3x4xf32> {graph.kind = #graph.kind<state>, graph.name = "paged_cache", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]},
    %t: tensor<2x6xi32> {graph.kind = #graph.kind<state>, graph.name = "pages", graph.fill = #graph.fill<pages>, graph.dims = ["batch", "page"]})
    -> (tensor<2x4x3x2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<2x4x3x2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "without_pages"},
        tensor<1x2x12x3x4xf32> {graph.kind = #graph.kind<state>, graph.name = "cache"}, tensor<1x2x12x3x4xf32> {graph.kind = #graph.kind<state>, graph.name = "paged_cache"}) {
  %i = graph.constant dense<0> : tensor<i32> : tensor<i32>
  %q = graph.linear %x, %wq contract = 1 : (tensor<2x4x10xf32>, tensor<3x2x4x10xf32>) -> tensor<2x4x3x2x4xf32>
  %k = graph.linear %x, %wk contract = 1 : (tensor<2x4x10xf32>, tensor<3x4x10xf32>) -> tensor<2x4x3x4xf32>
  %c1 = graph.cache_update %c[%i], %k, %p : (tensor<1x2x12x3x4xf32>, tensor<2x4x3x4xf32>, tensor<i32>, tensor<2x4xi32>) -> tensor<1x2x12x3x4xf32>
  %k1 = graph.layer_slice %c1[%i] : (tensor<1x2x12x3x4xf32>, tensor<i32>) -> tensor<2x12x3x4xf32>
  %a1 = graph.attention %q, %k1, %k1, %p scale = 0.5 : (tensor<2x4x3x2x4xf32>, tensor<2x12x3x4xf32>, tensor<2x12x3x4xf32>, tensor<2x4xi32>) -> tensor<2x4x3x2x4xf32>
  %c2 = graph.cache_update %pc[%i], %k, %p pages %t of 2
      : (tensor<1x2x12x3x4xf32>, tensor<2x4x3x4xf32>, tensor<i32>, tensor<2x4xi32>, tensor<2x6xi32>) -> tensor<1x2x12x3x4xf32>
  %k2 = graph.layer_slice %c2[%i] : (tensor<1x2x12x3x4xf32>, tensor<i32>) -> tensor<2x12x3x4xf32>
  %a2 = graph.attention %q, %k2, %k2, %p pages %t of 2 scale = 0.5
      : (tensor<2x4x3x2x4xf32>, tensor<2x12x3x4xf32>, tensor<2x12x3x4xf32>, tensor<2x4xi32>, tensor<2x6xi32>) -> tensor<2x4x3x2x4xf32>
  return %a2, %a1, %c1, %c2 : tensor<2x4x3x2x4xf32>, tensor<2x4x3x2x4xf32>, tensor<1x2x12x3x4xf32>, tensor<1x2x12x3x4xf32>
}
