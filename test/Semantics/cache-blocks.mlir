// Same numbers where keys and values are kept in blocks (--cache=q8_0): written rounded and read as they are, of a loop's layers and alone, with a window in a ring, after
// sharding, also of the context, and as programs.
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=dp=2}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=sp=2,tp=2}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=cp=3}"
// RUN: llm-judge %s --rung=kernels
// RUN: llm-judge %s --rung=exec --mesh=tp=2
// RUN: llm-judge %s --rung=binary --mesh=cp=3
// RUN: llm-judge %s --rung=binary --mesh=dp=2,tp=2
// RUN: llm-judge %s --rung=binary --mesh=sp=2

func.func @layers(%x: tensor<2x4x10xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<2x4xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %wq: tensor<2x3x2x32x10xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["layer", "kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<2x3x32x10xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["layer", "kv_heads", "head_dim", "hidden"]},
    %wo: tensor<2x10x3x2x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["layer", "hidden", "kv_heads", "group", "head_dim"]},
    %c: tensor<2x2x12x3x32xf32> {graph.kind = #graph.kind<state>, graph.name = "layers.k_cache", graph.held = "Q8_0", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]})
    -> (tensor<2x4x10xf32> {graph.kind = #graph.kind<output>, graph.name = "y"},
        tensor<2x2x12x3x32xf32> {graph.kind = #graph.kind<state>, graph.name = "layers.k_cache", graph.held = "Q8_0"}) {
  %r:2 = graph.repeat 2 carry(%x, %c : tensor<2x4x10xf32>, tensor<2x2x12x3x32xf32>)
      stack(%wq, %wk, %wo : tensor<2x3x2x32x10xf32>, tensor<2x3x32x10xf32>, tensor<2x10x3x2x32xf32>) -> (tensor<2x4x10xf32>, tensor<2x2x12x3x32xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<2x4x10xf32>, %held: tensor<2x2x12x3x32xf32>, %q_: tensor<3x2x32x10xf32>, %k_: tensor<3x32x10xf32>, %o_: tensor<10x3x2x32xf32>):
    %q = graph.linear %h, %q_ contract = 1 : (tensor<2x4x10xf32>, tensor<3x2x32x10xf32>) -> tensor<2x4x3x2x32xf32>
    %k = graph.linear %h, %k_ contract = 1 : (tensor<2x4x10xf32>, tensor<3x32x10xf32>) -> tensor<2x4x3x32xf32>
    %c1 = graph.cache_update %held[%i], %k, %p {graph.held = "Q8_0"} : (tensor<2x2x12x3x32xf32>, tensor<2x4x3x32xf32>, tensor<i32>, tensor<2x4xi32>) -> tensor<2x2x12x3x32xf32>
    %k1 = graph.layer_slice %c1[%i] : (tensor<2x2x12x3x32xf32>, tensor<i32>) -> tensor<2x12x3x32xf32>
    %a = graph.attention %q, %k1, %k1, %p scale = 0.5 : (tensor<2x4x3x2x32xf32>, tensor<2x12x3x32xf32>, tensor<2x12x3x32xf32>, tensor<2x4xi32>) -> tensor<2x4x3x2x32xf32>
    %y = graph.linear %a, %o_ contract = 3 : (tensor<2x4x3x2x32xf32>, tensor<10x3x2x32xf32>) -> tensor<2x4x10xf32>
    %z = graph.add %h, %y : (tensor<2x4x10xf32>, tensor<2x4x10xf32>) -> tensor<2x4x10xf32>
    graph.yield %z, %c1 : tensor<2x4x10xf32>, tensor<2x2x12x3x32xf32>
  }
  return %r#0, %r#1 : tensor<2x4x10xf32>, tensor<2x2x12x3x32xf32>
}

// One position, as decoding has it, in bf16: keys in a ring, values beside them.
func.func @ring(%q: tensor<2x1x3x2x32xbf16> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<2x1x3x32xbf16> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<2x1xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %kc: tensor<1x2x7x3x32xf32> {graph.kind = #graph.kind<state>, graph.name = "k_ring", graph.held = "Q8_0", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]},
    %vc: tensor<1x2x7x3x64xf32> {graph.kind = #graph.kind<state>, graph.name = "v_ring", graph.held = "Q8_0", graph.dims = ["layer", "batch", "context", "kv_heads", "value_dim"]},
    %v: tensor<2x1x3x64xbf16> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "value_dim"]})
    -> (tensor<2x1x3x2x64xbf16> {graph.kind = #graph.kind<output>, graph.name = "z"},
        tensor<1x2x7x3x32xf32> {graph.kind = #graph.kind<state>, graph.name = "k_ring", graph.held = "Q8_0"},
        tensor<1x2x7x3x64xf32> {graph.kind = #graph.kind<state>, graph.name = "v_ring", graph.held = "Q8_0"}) {
  %i = graph.constant dense<0> : tensor<i32> : tensor<i32>
  %wk = graph.cast %k : (tensor<2x1x3x32xbf16>) -> tensor<2x1x3x32xf32>
  %c1 = graph.cache_update %kc[%i], %wk, %p ring {graph.held = "Q8_0"} : (tensor<1x2x7x3x32xf32>, tensor<2x1x3x32xf32>, tensor<i32>, tensor<2x1xi32>) -> tensor<1x2x7x3x32xf32>
  %k1 = graph.layer_slice %c1[%i] : (tensor<1x2x7x3x32xf32>, tensor<i32>) -> tensor<2x7x3x32xf32>
  %wv = graph.cast %v : (tensor<2x1x3x64xbf16>) -> tensor<2x1x3x64xf32>
  %c2 = graph.cache_update %vc[%i], %wv, %p ring {graph.held = "Q8_0"} : (tensor<1x2x7x3x64xf32>, tensor<2x1x3x64xf32>, tensor<i32>, tensor<2x1xi32>) -> tensor<1x2x7x3x64xf32>
  %v1 = graph.layer_slice %c2[%i] : (tensor<1x2x7x3x64xf32>, tensor<i32>) -> tensor<2x7x3x64xf32>
  %a = graph.attention %q, %k1, %v1, %p ring scale = 0.5 {window = 5 : i64} : (tensor<2x1x3x2x32xbf16>, tensor<2x7x3x32xf32>, tensor<2x7x3x64xf32>, tensor<2x1xi32>) -> tensor<2x1x3x2x64xbf16>
  return %a, %c1, %c2 : tensor<2x1x3x2x64xbf16>, tensor<1x2x7x3x32xf32>, tensor<1x2x7x3x64xf32>
}


// Layers read before they are written: of what a loop carries, and of what an entry is given.
func.func @earlier(%q: tensor<2x1x3x2x32xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %p: tensor<2x1xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %c: tensor<2x2x7x3x32xf32> {graph.kind = #graph.kind<state>, graph.name = "k_cache", graph.held = "Q8_0", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]},
    %w: tensor<2x2x7x3x64xf32> {graph.kind = #graph.kind<state>, graph.name = "v_cache", graph.held = "Q8_0", graph.dims = ["layer", "batch", "context", "kv_heads", "value_dim"]},
    %v: tensor<2x1x3x64xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "value_dim"]})
    -> (tensor<2x1x3x2x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"},
        tensor<2x1x3x2x64xf32> {graph.kind = #graph.kind<output>, graph.name = "z"},
        tensor<2x2x7x3x64xf32> {graph.kind = #graph.kind<state>, graph.name = "v_cache", graph.held = "Q8_0"}) {
  %zero = graph.constant dense<0> : tensor<i32> : tensor<i32>
  %k0 = graph.layer_slice %c[%zero] : (tensor<2x2x7x3x32xf32>, tensor<i32>) -> tensor<2x7x3x32xf32>
  %v0 = graph.layer_slice %w[%zero] : (tensor<2x2x7x3x64xf32>, tensor<i32>) -> tensor<2x7x3x64xf32>
  %y = graph.attention %q, %k0, %v0, %p scale = 0.5 : (tensor<2x1x3x2x32xf32>, tensor<2x7x3x32xf32>, tensor<2x7x3x64xf32>, tensor<2x1xi32>) -> tensor<2x1x3x2x64xf32>
  %r:2 = graph.repeat 2 carry(%y, %w : tensor<2x1x3x2x64xf32>, tensor<2x2x7x3x64xf32>) -> (tensor<2x1x3x2x64xf32>, tensor<2x2x7x3x64xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<2x1x3x2x64xf32>, %held: tensor<2x2x7x3x64xf32>):
    %v1 = graph.layer_slice %held[%i] : (tensor<2x2x7x3x64xf32>, tensor<i32>) -> tensor<2x7x3x64xf32>
    %a = graph.attention %q, %k0, %v1, %p scale = 0.5 : (tensor<2x1x3x2x32xf32>, tensor<2x7x3x32xf32>, tensor<2x7x3x64xf32>, tensor<2x1xi32>) -> tensor<2x1x3x2x64xf32>
    %s = graph.add %h, %a : (tensor<2x1x3x2x64xf32>, tensor<2x1x3x2x64xf32>) -> tensor<2x1x3x2x64xf32>
    %u = graph.cache_update %held[%i], %v, %p {graph.held = "Q8_0"} : (tensor<2x2x7x3x64xf32>, tensor<2x1x3x64xf32>, tensor<i32>, tensor<2x1xi32>) -> tensor<2x2x7x3x64xf32>
    graph.yield %s, %u : tensor<2x1x3x2x64xf32>, tensor<2x2x7x3x64xf32>
  }
  return %y, %r#0, %r#1 : tensor<2x1x3x2x64xf32>, tensor<2x1x3x2x64xf32>, tensor<2x2x7x3x64xf32>
}
