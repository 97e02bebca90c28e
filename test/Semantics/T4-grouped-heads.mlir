// T4: same numbers where KV heads are copied, or padded with their groups, or both; forward and backward.
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=4}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=6}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=16}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=fsdp=2,tp=4}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=cp=2,tp=4}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=2,b=2 shard=heads=a+b}"
// RUN: llm-judge %s --entry=five --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --entry=five --pipeline="tessera-shard{mesh=tp=3}"
// RUN: llm-judge %s --entry=five --pipeline="tessera-shard{mesh=tp=4}"
// RUN: llm-judge %s --entry=five --pipeline="tessera-shard{mesh=tp=8}"
// RUN: llm-judge %s --entry=five --pipeline="tessera-shard{mesh=dp=2,tp=4}"
// RUN: llm-judge %s --entry=backward --pipeline="tessera-shard{mesh=tp=4}"
// RUN: llm-judge %s --entry=backward --pipeline="tessera-shard{mesh=dp=2,tp=4}"
func.func @attention(%x: tensor<4x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %wq: tensor<2x4x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<2x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wv: tensor<2x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wo: tensor<64x2x4x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "kv_heads", "group", "head_dim"]})
    -> (tensor<4x16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %q = graph.linear %x, %wq contract = 1 : (tensor<4x16x64xf32>, tensor<2x4x8x64xf32>) -> tensor<4x16x2x4x8xf32>
  %k = graph.linear %x, %wk contract = 1 : (tensor<4x16x64xf32>, tensor<2x8x64xf32>) -> tensor<4x16x2x8xf32>
  %v = graph.linear %x, %wv contract = 1 : (tensor<4x16x64xf32>, tensor<2x8x64xf32>) -> tensor<4x16x2x8xf32>
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<4x16x2x4x8xf32>, tensor<4x16x2x8xf32>, tensor<4x16x2x8xf32>, tensor<4x16xi32>) -> tensor<4x16x2x4x8xf32>
  %o = graph.linear %a, %wo contract = 3 : (tensor<4x16x2x4x8xf32>, tensor<64x2x4x8xf32>) -> tensor<4x16x64xf32>
  return %o : tensor<4x16x64xf32>
}

// The gradients of the keys' and values' weights, from those of each query head's copy of keys and values (dk, dv [.., kv_heads, group, ..]).
func.func @backward(%x: tensor<4x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %dk: tensor<4x16x2x4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "dk", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %dv: tensor<4x16x2x4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "dv", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %dq: tensor<4x16x2x4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "dq", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]})
    -> (tensor<2x8x64xf32> {graph.kind = #graph.kind<output>, graph.name = "dwk"}, tensor<2x8x64xf32> {graph.kind = #graph.kind<output>, graph.name = "dwv"},
        tensor<2x4x8x64xf32> {graph.kind = #graph.kind<output>, graph.name = "dwq"}) {
  %xt = graph.transpose %x [2, 0, 1] : (tensor<4x16x64xf32>) -> tensor<64x4x16xf32>
  %dk1 = graph.reduce sum %dk dims = [3] : (tensor<4x16x2x4x8xf32>) -> tensor<4x16x2x8xf32>
  %dv1 = graph.reduce sum %dv dims = [3] : (tensor<4x16x2x4x8xf32>) -> tensor<4x16x2x8xf32>
  %dk2 = graph.transpose %dk1 [2, 3, 0, 1] : (tensor<4x16x2x8xf32>) -> tensor<2x8x4x16xf32>
  %dv2 = graph.transpose %dv1 [2, 3, 0, 1] : (tensor<4x16x2x8xf32>) -> tensor<2x8x4x16xf32>
  %dq2 = graph.transpose %dq [2, 3, 4, 0, 1] : (tensor<4x16x2x4x8xf32>) -> tensor<2x4x8x4x16xf32>
  %dwk = graph.linear %dk2, %xt contract = 2 : (tensor<2x8x4x16xf32>, tensor<64x4x16xf32>) -> tensor<2x8x64xf32>
  %dwv = graph.linear %dv2, %xt contract = 2 : (tensor<2x8x4x16xf32>, tensor<64x4x16xf32>) -> tensor<2x8x64xf32>
  %dwq = graph.linear %dq2, %xt contract = 2 : (tensor<2x4x8x4x16xf32>, tensor<64x4x16xf32>) -> tensor<2x4x8x64xf32>
  return %dwk, %dwv, %dwq : tensor<2x8x64xf32>, tensor<2x8x64xf32>, tensor<2x4x8x64xf32>
}
func.func @five(%x: tensor<4x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %wq: tensor<5x2x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<5x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wv: tensor<5x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wo: tensor<64x5x2x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "kv_heads", "group", "head_dim"]})
    -> (tensor<4x16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %q = graph.linear %x, %wq contract = 1 : (tensor<4x16x64xf32>, tensor<5x2x8x64xf32>) -> tensor<4x16x5x2x8xf32>
  %k = graph.linear %x, %wk contract = 1 : (tensor<4x16x64xf32>, tensor<5x8x64xf32>) -> tensor<4x16x5x8xf32>
  %v = graph.linear %x, %wv contract = 1 : (tensor<4x16x64xf32>, tensor<5x8x64xf32>) -> tensor<4x16x5x8xf32>
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<4x16x5x2x8xf32>, tensor<4x16x5x8xf32>, tensor<4x16x5x8xf32>, tensor<4x16xi32>) -> tensor<4x16x5x2x8xf32>
  %o = graph.linear %a, %wo contract = 3 : (tensor<4x16x5x2x8xf32>, tensor<64x5x2x8xf32>) -> tensor<4x16x64xf32>
  return %o : tensor<4x16x64xf32>
}
