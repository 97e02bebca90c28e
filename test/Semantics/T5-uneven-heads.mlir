// T5: same numbers where heads do not divide: 30 heads, and 9 query heads on 3 KV heads.
// RUN: llm-judge %s --entry=thirty --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --entry=nine --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --entry=thirty --pipeline="tessera-shard{mesh=tp=4}"
// RUN: llm-judge %s --entry=nine --pipeline="tessera-shard{mesh=tp=4}"
// RUN: llm-judge %s --entry=thirty --pipeline="tessera-shard{mesh=tp=5}"
// RUN: llm-judge %s --entry=nine --pipeline="tessera-shard{mesh=tp=5}"
// RUN: llm-judge %s --entry=thirty --pipeline="tessera-shard{mesh=tp=8}"
// RUN: llm-judge %s --entry=nine --pipeline="tessera-shard{mesh=tp=8}"
// RUN: llm-judge %s --entry=thirty --pipeline="tessera-shard{mesh=tp=16}"
// RUN: llm-judge %s --entry=nine --pipeline="tessera-shard{mesh=tp=16}"
// RUN: llm-judge %s --entry=thirty --pipeline="tessera-shard{mesh=dp=2,tp=4}"
// RUN: llm-judge %s --entry=nine --pipeline="tessera-shard{mesh=dp=2,tp=4}"
// RUN: llm-judge %s --entry=thirty --pipeline="tessera-shard{mesh=fsdp=2,tp=2}"
// RUN: llm-judge %s --entry=nine --pipeline="tessera-shard{mesh=fsdp=2,tp=2}"
// RUN: llm-judge %s --entry=thirty --pipeline="tessera-shard{mesh=cp=3,tp=2}"
// RUN: llm-judge %s --entry=nine --pipeline="tessera-shard{mesh=cp=3,tp=2}"
// RUN: llm-judge %s --entry=one --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --entry=one --pipeline="tessera-shard{mesh=tp=4}"
// RUN: llm-judge %s --entry=wide --pipeline="tessera-shard{mesh=tp=4}"
// RUN: llm-judge %s --entry=wide --pipeline="tessera-shard{mesh=dp=2,tp=4}"
func.func @thirty(%x: tensor<2x4x16xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<2x4xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %wq: tensor<30x1x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<30x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wv: tensor<30x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wo: tensor<16x30x1x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "kv_heads", "group", "head_dim"]})
    -> (tensor<2x4x16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %q = graph.linear %x, %wq contract = 1 : (tensor<2x4x16xf32>, tensor<30x1x8x16xf32>) -> tensor<2x4x30x1x8xf32>
  %k = graph.linear %x, %wk contract = 1 : (tensor<2x4x16xf32>, tensor<30x8x16xf32>) -> tensor<2x4x30x8xf32>
  %v = graph.linear %x, %wv contract = 1 : (tensor<2x4x16xf32>, tensor<30x8x16xf32>) -> tensor<2x4x30x8xf32>
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<2x4x30x1x8xf32>, tensor<2x4x30x8xf32>, tensor<2x4x30x8xf32>, tensor<2x4xi32>) -> tensor<2x4x30x1x8xf32>
  %o = graph.linear %a, %wo contract = 3 : (tensor<2x4x30x1x8xf32>, tensor<16x30x1x8xf32>) -> tensor<2x4x16xf32>
  return %o : tensor<2x4x16xf32>
}
func.func @nine(%x: tensor<2x4x16xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<2x4xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %wq: tensor<3x3x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<3x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wv: tensor<3x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wo: tensor<16x3x3x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "kv_heads", "group", "head_dim"]})
    -> (tensor<2x4x16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %q = graph.linear %x, %wq contract = 1 : (tensor<2x4x16xf32>, tensor<3x3x8x16xf32>) -> tensor<2x4x3x3x8xf32>
  %k = graph.linear %x, %wk contract = 1 : (tensor<2x4x16xf32>, tensor<3x8x16xf32>) -> tensor<2x4x3x8xf32>
  %v = graph.linear %x, %wv contract = 1 : (tensor<2x4x16xf32>, tensor<3x8x16xf32>) -> tensor<2x4x3x8xf32>
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<2x4x3x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4xi32>) -> tensor<2x4x3x3x8xf32>
  %o = graph.linear %a, %wo contract = 3 : (tensor<2x4x3x3x8xf32>, tensor<16x3x3x8xf32>) -> tensor<2x4x16xf32>
  return %o : tensor<2x4x16xf32>
}
func.func @one(%x: tensor<2x4x16xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<2x4xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %wq: tensor<1x9x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<1x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wv: tensor<1x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wo: tensor<16x1x9x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "kv_heads", "group", "head_dim"]})
    -> (tensor<2x4x16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %q = graph.linear %x, %wq contract = 1 : (tensor<2x4x16xf32>, tensor<1x9x8x16xf32>) -> tensor<2x4x1x9x8xf32>
  %k = graph.linear %x, %wk contract = 1 : (tensor<2x4x16xf32>, tensor<1x8x16xf32>) -> tensor<2x4x1x8xf32>
  %v = graph.linear %x, %wv contract = 1 : (tensor<2x4x16xf32>, tensor<1x8x16xf32>) -> tensor<2x4x1x8xf32>
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<2x4x1x9x8xf32>, tensor<2x4x1x8xf32>, tensor<2x4x1x8xf32>, tensor<2x4xi32>) -> tensor<2x4x1x9x8xf32>
  %o = graph.linear %a, %wo contract = 3 : (tensor<2x4x1x9x8xf32>, tensor<16x1x9x8xf32>) -> tensor<2x4x16xf32>
  return %o : tensor<2x4x16xf32>
}
func.func @wide(%x: tensor<2x4x16xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<2x4xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %wq: tensor<30x1x64x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<30x64x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wv: tensor<30x64x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wo: tensor<16x30x1x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "kv_heads", "group", "head_dim"]})
    -> (tensor<2x4x16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %q = graph.linear %x, %wq contract = 1 : (tensor<2x4x16xf32>, tensor<30x1x64x16xf32>) -> tensor<2x4x30x1x64xf32>
  %k = graph.linear %x, %wk contract = 1 : (tensor<2x4x16xf32>, tensor<30x64x16xf32>) -> tensor<2x4x30x64xf32>
  %v = graph.linear %x, %wv contract = 1 : (tensor<2x4x16xf32>, tensor<30x64x16xf32>) -> tensor<2x4x30x64xf32>
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<2x4x30x1x64xf32>, tensor<2x4x30x64xf32>, tensor<2x4x30x64xf32>, tensor<2x4xi32>) -> tensor<2x4x30x1x64xf32>
  %o = graph.linear %a, %wo contract = 3 : (tensor<2x4x30x1x64xf32>, tensor<16x30x1x64xf32>) -> tensor<2x4x16xf32>
  return %o : tensor<2x4x16xf32>
}
