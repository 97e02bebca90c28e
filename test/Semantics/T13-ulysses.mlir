// T13: same numbers where sequence is exchanged for heads, 17 positions over 5 ranks among them, and 41 over 4.
// RUN: llm-judge %s --entry=uneven --pipeline="tessera-shard{mesh=sp=5}"
// RUN: llm-judge %s --entry=more --pipeline="tessera-shard{mesh=sp=5}"
// RUN: llm-judge %s --entry=uneven --pipeline="tessera-shard{mesh=dp=2,sp=4}"
// RUN: llm-judge %s --entry=more --pipeline="tessera-shard{mesh=dp=2,sp=4}"
// RUN: llm-judge %s --entry=uneven --pipeline="tessera-shard{mesh=sp=4}"
// RUN: llm-judge %s --entry=more --pipeline="tessera-shard{mesh=sp=4}"
// RUN: llm-judge %s --entry=uneven --pipeline="tessera-shard{mesh=sp=10}"
// RUN: llm-judge %s --entry=more --pipeline="tessera-shard{mesh=sp=10}"
// RUN: llm-opt %s --tessera-shard="mesh=sp=5" | FileCheck %s --check-prefix=SP5
// RUN: llm-opt %s --tessera-shard="mesh=sp=4" | FileCheck %s --check-prefix=SP4
// SP5: @uneven
// SP5: dist.all_to_all
// SP4: @more
// SP4: dist.all_to_all
// RUN: llm-judge %s --entry=copies --pipeline="tessera-shard{mesh=sp=8}"
// RUN: llm-judge %s --entry=copies --pipeline="tessera-shard{mesh=sp=6}"
// RUN: llm-judge %s --entry=gqa --pipeline="tessera-shard{mesh=sp=4}"
// RUN: llm-judge %s --entry=gqa --pipeline="tessera-shard{mesh=dp=2,sp=4}"
// RUN: llm-judge %s --entry=nine --pipeline="tessera-shard{mesh=sp=2}"
// RUN: llm-judge %s --entry=nine --pipeline="tessera-shard{mesh=sp=4}"
func.func @uneven(%q: tensor<64x17x10x1x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<64x17x10x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<64x17x10x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<64x17xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]})
    -> (tensor<64x17x10x1x8xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}) {
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<64x17x10x1x8xf32>, tensor<64x17x10x8xf32>, tensor<64x17x10x8xf32>, tensor<64x17xi32>) -> tensor<64x17x10x1x8xf32>
  %o = graph.name %a "out" ["batch", "seq", "kv_heads", "group", "head_dim"] : tensor<64x17x10x1x8xf32>
  return %o : tensor<64x17x10x1x8xf32>
}
func.func @more(%q: tensor<16x41x8x1x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<16x41x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<16x41x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<16x41xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]})
    -> (tensor<16x41x8x1x8xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}) {
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<16x41x8x1x8xf32>, tensor<16x41x8x8xf32>, tensor<16x41x8x8xf32>, tensor<16x41xi32>) -> tensor<16x41x8x1x8xf32>
  %o = graph.name %a "out" ["batch", "seq", "kv_heads", "group", "head_dim"] : tensor<16x41x8x1x8xf32>
  return %o : tensor<16x41x8x1x8xf32>
}
func.func @copies(%q: tensor<1x64x4x2x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<1x64x4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<1x64x4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<1x64xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]})
    -> (tensor<1x64x4x2x8xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}) {
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<1x64x4x2x8xf32>, tensor<1x64x4x8xf32>, tensor<1x64x4x8xf32>, tensor<1x64xi32>) -> tensor<1x64x4x2x8xf32>
  %o = graph.name %a "out" ["batch", "seq", "kv_heads", "group", "head_dim"] : tensor<1x64x4x2x8xf32>
  return %o : tensor<1x64x4x2x8xf32>
}
func.func @gqa(%q: tensor<4x64x2x4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<4x64x2x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<4x64x2x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<4x64xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]})
    -> (tensor<4x64x2x4x8xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}) {
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<4x64x2x4x8xf32>, tensor<4x64x2x8xf32>, tensor<4x64x2x8xf32>, tensor<4x64xi32>) -> tensor<4x64x2x4x8xf32>
  %o = graph.name %a "out" ["batch", "seq", "kv_heads", "group", "head_dim"] : tensor<4x64x2x4x8xf32>
  return %o : tensor<4x64x2x4x8xf32>
}
func.func @nine(%q: tensor<4x64x3x3x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<4x64x3x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<4x64x3x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<4x64xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]})
    -> (tensor<4x64x3x3x8xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}) {
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<4x64x3x3x8xf32>, tensor<4x64x3x8xf32>, tensor<4x64x3x8xf32>, tensor<4x64xi32>) -> tensor<4x64x3x3x8xf32>
  %o = graph.name %a "out" ["batch", "seq", "kv_heads", "group", "head_dim"] : tensor<4x64x3x3x8xf32>
  return %o : tensor<4x64x3x3x8xf32>
}
