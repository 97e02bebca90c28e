// Same numbers after sharding: grouped-query attention with a cache, 3 key and value heads for 6 query heads.
// RUN: llm-judge %s --pipeline="tessera-shard{}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=5}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=fsdp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=fsdp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=4 shard=kv_heads=tp:(1)2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=cp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=cp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=2 shard=group=a}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=3 shard=head_dim=a}"
func.func @attention(%x: tensor<2x4x10xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<2x4xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %wq: tensor<3x2x4x10xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<3x4x10xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wv: tensor<3x4x10xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wo: tensor<10x3x2x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "kv_heads", "group", "head_dim"]},
    %kc: tensor<1x2x9x3x4xf32> {graph.kind = #graph.kind<state>, graph.name = "k_cache", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]},
    %vc: tensor<1x2x9x3x4xf32> {graph.kind = #graph.kind<state>, graph.name = "v_cache", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]})
    -> (tensor<2x4x10xf32> {graph.kind = #graph.kind<output>, graph.name = "y"},
        tensor<1x2x9x3x4xf32> {graph.kind = #graph.kind<state>, graph.name = "k_cache"}, tensor<1x2x9x3x4xf32> {graph.kind = #graph.kind<state>, graph.name = "v_cache"}) {
  %i = graph.constant dense<0> : tensor<i32> : tensor<i32>
  %q0 = graph.linear %x, %wq contract = 1 : (tensor<2x4x10xf32>, tensor<3x2x4x10xf32>) -> tensor<2x4x3x2x4xf32>
  %k0 = graph.linear %x, %wk contract = 1 : (tensor<2x4x10xf32>, tensor<3x4x10xf32>) -> tensor<2x4x3x4xf32>
  %v = graph.linear %x, %wv contract = 1 : (tensor<2x4x10xf32>, tensor<3x4x10xf32>) -> tensor<2x4x3x4xf32>
  %q = graph.rope half %q0, %p frequencies = [1.0, 0.1] : (tensor<2x4x3x2x4xf32>, tensor<2x4xi32>) -> tensor<2x4x3x2x4xf32>
  %k = graph.rope half %k0, %p frequencies = [1.0, 0.1] : (tensor<2x4x3x4xf32>, tensor<2x4xi32>) -> tensor<2x4x3x4xf32>
  %k1 = graph.cache_update %kc[%i], %k, %p : (tensor<1x2x9x3x4xf32>, tensor<2x4x3x4xf32>, tensor<i32>, tensor<2x4xi32>) -> tensor<1x2x9x3x4xf32>
  %v1 = graph.cache_update %vc[%i], %v, %p : (tensor<1x2x9x3x4xf32>, tensor<2x4x3x4xf32>, tensor<i32>, tensor<2x4xi32>) -> tensor<1x2x9x3x4xf32>
  %k2 = graph.layer_slice %k1[%i] : (tensor<1x2x9x3x4xf32>, tensor<i32>) -> tensor<2x9x3x4xf32>
  %v2 = graph.layer_slice %v1[%i] : (tensor<1x2x9x3x4xf32>, tensor<i32>) -> tensor<2x9x3x4xf32>
  %a = graph.attention %q, %k2, %v2, %p scale = 0.5 : (tensor<2x4x3x2x4xf32>, tensor<2x9x3x4xf32>, tensor<2x9x3x4xf32>, tensor<2x4xi32>) -> tensor<2x4x3x2x4xf32>
  %o = graph.linear %a, %wo contract = 3 : (tensor<2x4x3x2x4xf32>, tensor<10x3x2x4xf32>) -> tensor<2x4x10xf32>
  return %o, %k1, %v1 : tensor<2x4x10xf32>, tensor<1x2x9x3x4xf32>, tensor<1x2x9x3x4xf32>
}
