// Same numbers after sharding: five layers of two kinds in turn, stacked weights, a carried cache that every layer adds to.
// RUN: llm-judge %s --pipeline="tessera-shard{}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=5}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=fsdp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=3 shard=residual:seq=tp}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=fsdp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=4 shard=ffn=tp:(1)2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=pp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=pp=5,tp=2}"
func.func @layers(%x: tensor<3x4x6xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<3x4xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %w1: tensor<5x7x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers.up", graph.dims = ["layer", "ffn", "hidden"]},
    %w2: tensor<5x6x7xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers.down", graph.dims = ["layer", "hidden", "ffn"]},
    %wk: tensor<5x3x2x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers.k", graph.dims = ["layer", "kv_heads", "head_dim", "hidden"]},
    %c: tensor<5x3x8x3x2xf32> {graph.kind = #graph.kind<state>, graph.name = "cache", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]})
    -> (tensor<3x4x6xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<5x3x8x3x2xf32> {graph.kind = #graph.kind<state>, graph.name = "cache"}) {
  %r:2 = graph.repeat 5 carry(%x, %c : tensor<3x4x6xf32>, tensor<5x3x8x3x2xf32>) stack(%w1, %w2, %wk : tensor<5x7x6xf32>, tensor<5x6x7xf32>, tensor<5x3x2x6xf32>)
      -> (tensor<3x4x6xf32>, tensor<5x3x8x3x2xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<3x4x6xf32>, %cache: tensor<5x3x8x3x2xf32>, %up: tensor<7x6xf32>, %down: tensor<6x7xf32>, %k: tensor<3x2x6xf32>):
    %0 = graph.linear %h, %up contract = 1 : (tensor<3x4x6xf32>, tensor<7x6xf32>) -> tensor<3x4x7xf32>
    %1 = graph.silu %0 : tensor<3x4x7xf32>
    %2 = graph.linear %1, %down contract = 1 : (tensor<3x4x7xf32>, tensor<6x7xf32>) -> tensor<3x4x6xf32>
    %3 = graph.add %h, %2 : (tensor<3x4x6xf32>, tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
    %y = graph.name %3 "residual" ["batch", "seq", "hidden"] : tensor<3x4x6xf32>
    %4 = graph.linear %y, %k contract = 1 : (tensor<3x4x6xf32>, tensor<3x2x6xf32>) -> tensor<3x4x3x2xf32>
    %5 = graph.cache_update %cache[%i], %4, %p : (tensor<5x3x8x3x2xf32>, tensor<3x4x3x2xf32>, tensor<i32>, tensor<3x4xi32>) -> tensor<5x3x8x3x2xf32>
    graph.yield %y, %5 : tensor<3x4x6xf32>, tensor<5x3x8x3x2xf32>
  }, {
  ^bb0(%i: tensor<i32>, %h: tensor<3x4x6xf32>, %cache: tensor<5x3x8x3x2xf32>, %up: tensor<7x6xf32>, %down: tensor<6x7xf32>, %k: tensor<3x2x6xf32>):
    %0 = graph.linear %h, %up contract = 1 : (tensor<3x4x6xf32>, tensor<7x6xf32>) -> tensor<3x4x7xf32>
    %1 = graph.tanh %0 : tensor<3x4x7xf32>
    %2 = graph.linear %1, %down contract = 1 : (tensor<3x4x7xf32>, tensor<6x7xf32>) -> tensor<3x4x6xf32>
    graph.yield %2, %cache : tensor<3x4x6xf32>, tensor<5x3x8x3x2xf32>
  }
  return %r#0, %r#1 : tensor<3x4x6xf32>, tensor<5x3x8x3x2xf32>
}
