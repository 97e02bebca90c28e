// Same numbers where keys and values are kept in another type than they are computed in (--cache): float32 over bf16, bf16 over f16, bf16 over float32, with a window, and of
// a loop's layers; after sharding, also of the context, and as programs.
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=dp=2}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=sp=2,tp=2}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=cp=3}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=cp=2,dp=2}"
// RUN: llm-judge %s --rung=kernels
// RUN: llm-judge %s --rung=exec --mesh=tp=2
// RUN: llm-judge %s --rung=binary --mesh=cp=3
// RUN: llm-judge %s --rung=binary --mesh=dp=2,tp=2

func.func @narrow(%x: tensor<2x4x10xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<2x4xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %wq: tensor<2x3x2x4x10xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["layer", "kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<2x3x4x10xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["layer", "kv_heads", "head_dim", "hidden"]},
    %wo: tensor<2x10x3x2x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["layer", "hidden", "kv_heads", "group", "head_dim"]},
    %c: tensor<2x2x12x3x4xbf16> {graph.kind = #graph.kind<state>, graph.name = "layers.k_cache", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]})
    -> (tensor<2x4x10xf32> {graph.kind = #graph.kind<output>, graph.name = "y"},
        tensor<2x2x12x3x4xbf16> {graph.kind = #graph.kind<state>, graph.name = "layers.k_cache"}) {
  %r:2 = graph.repeat 2 carry(%x, %c : tensor<2x4x10xf32>, tensor<2x2x12x3x4xbf16>)
      stack(%wq, %wk, %wo : tensor<2x3x2x4x10xf32>, tensor<2x3x4x10xf32>, tensor<2x10x3x2x4xf32>) -> (tensor<2x4x10xf32>, tensor<2x2x12x3x4xbf16>) {
  ^bb0(%i: tensor<i32>, %h: tensor<2x4x10xf32>, %held: tensor<2x2x12x3x4xbf16>, %q_: tensor<3x2x4x10xf32>, %k_: tensor<3x4x10xf32>, %o_: tensor<10x3x2x4xf32>):
    %q = graph.linear %h, %q_ contract = 1 : (tensor<2x4x10xf32>, tensor<3x2x4x10xf32>) -> tensor<2x4x3x2x4xf32>
    %k = graph.linear %h, %k_ contract = 1 : (tensor<2x4x10xf32>, tensor<3x4x10xf32>) -> tensor<2x4x3x4xf32>
    %n = graph.cast %k : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xbf16>
    %c1 = graph.cache_update %held[%i], %n, %p : (tensor<2x2x12x3x4xbf16>, tensor<2x4x3x4xbf16>, tensor<i32>, tensor<2x4xi32>) -> tensor<2x2x12x3x4xbf16>
    %k1 = graph.layer_slice %c1[%i] : (tensor<2x2x12x3x4xbf16>, tensor<i32>) -> tensor<2x12x3x4xbf16>
    %a = graph.attention %q, %k1, %k1, %p scale = 0.5 : (tensor<2x4x3x2x4xf32>, tensor<2x12x3x4xbf16>, tensor<2x12x3x4xbf16>, tensor<2x4xi32>) -> tensor<2x4x3x2x4xf32>
    %y = graph.linear %a, %o_ contract = 3 : (tensor<2x4x3x2x4xf32>, tensor<10x3x2x4xf32>) -> tensor<2x4x10xf32>
    %z = graph.add %h, %y : (tensor<2x4x10xf32>, tensor<2x4x10xf32>) -> tensor<2x4x10xf32>
    graph.yield %z, %c1 : tensor<2x4x10xf32>, tensor<2x2x12x3x4xbf16>
  }
  return %r#0, %r#1 : tensor<2x4x10xf32>, tensor<2x2x12x3x4xbf16>
}

// One position, as decoding has it.
func.func @other(%q: tensor<2x1x3x2x4xbf16> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<2x1x3x4xbf16> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<2x1xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %c: tensor<1x2x12x3x4xf16> {graph.kind = #graph.kind<state>, graph.name = "half", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]},
    %w: tensor<1x2x12x3x4xf32> {graph.kind = #graph.kind<state>, graph.name = "wide", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]})
    -> (tensor<2x1x3x2x4xbf16> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<2x1x3x2x4xbf16> {graph.kind = #graph.kind<output>, graph.name = "z"},
        tensor<1x2x12x3x4xf16> {graph.kind = #graph.kind<state>, graph.name = "half"}, tensor<1x2x12x3x4xf32> {graph.kind = #graph.kind<state>, graph.name = "wide"}) {
  %i = graph.constant dense<0> : tensor<i32> : tensor<i32>
  %half = graph.cast %k : (tensor<2x1x3x4xbf16>) -> tensor<2x1x3x4xf16>
  %c1 = graph.cache_update %c[%i], %half, %p : (tensor<1x2x12x3x4xf16>, tensor<2x1x3x4xf16>, tensor<i32>, tensor<2x1xi32>) -> tensor<1x2x12x3x4xf16>
  %k1 = graph.layer_slice %c1[%i] : (tensor<1x2x12x3x4xf16>, tensor<i32>) -> tensor<2x12x3x4xf16>
  %a1 = graph.attention %q, %k1, %k1, %p scale = 0.5 {window = 5 : i64} : (tensor<2x1x3x2x4xbf16>, tensor<2x12x3x4xf16>, tensor<2x12x3x4xf16>, tensor<2x1xi32>) -> tensor<2x1x3x2x4xbf16>
  %wide = graph.cast %k : (tensor<2x1x3x4xbf16>) -> tensor<2x1x3x4xf32>
  %c2 = graph.cache_update %w[%i], %wide, %p : (tensor<1x2x12x3x4xf32>, tensor<2x1x3x4xf32>, tensor<i32>, tensor<2x1xi32>) -> tensor<1x2x12x3x4xf32>
  %k2 = graph.layer_slice %c2[%i] : (tensor<1x2x12x3x4xf32>, tensor<i32>) -> tensor<2x12x3x4xf32>
  %a2 = graph.attention %q, %k2, %k2, %p scale = 0.5 : (tensor<2x1x3x2x4xbf16>, tensor<2x12x3x4xf32>, tensor<2x12x3x4xf32>, tensor<2x1xi32>) -> tensor<2x1x3x2x4xbf16>
  return %a1, %a2, %c1, %c2 : tensor<2x1x3x2x4xbf16>, tensor<2x1x3x2x4xbf16>, tensor<1x2x12x3x4xf16>, tensor<1x2x12x3x4xf32>
}
