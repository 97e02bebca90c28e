// T11: same numbers with heads, or the halves of heads, over ranks.
// RUN: llm-judge %s --entry=rope --pipeline="tessera-shard{mesh=dp=2,tp=3}"
// RUN: llm-judge %s --entry=adjacent --pipeline="tessera-shard{mesh=dp=2,tp=3}"
// RUN: llm-judge %s --entry=part --pipeline="tessera-shard{mesh=dp=2,tp=3}"
// RUN: llm-judge %s --entry=rope --pipeline="tessera-shard{mesh=dp=2,a=2 shard=head_dim=a}"
// RUN: llm-judge %s --entry=adjacent --pipeline="tessera-shard{mesh=dp=2,a=2 shard=head_dim=a}"
// RUN: llm-judge %s --entry=part --pipeline="tessera-shard{mesh=dp=2,a=2 shard=head_dim=a}"
// RUN: llm-judge %s --entry=rope --pipeline="tessera-shard{mesh=a=4 shard=head_dim=a}"
// RUN: llm-judge %s --entry=adjacent --pipeline="tessera-shard{mesh=a=4 shard=head_dim=a}"
// RUN: llm-judge %s --entry=part --pipeline="tessera-shard{mesh=a=4 shard=head_dim=a}"
// RUN: llm-judge %s --entry=rope --pipeline="tessera-shard{mesh=a=8 shard=head_dim=a}"
// RUN: llm-judge %s --entry=adjacent --pipeline="tessera-shard{mesh=a=8 shard=head_dim=a}"
// RUN: llm-judge %s --entry=part --pipeline="tessera-shard{mesh=a=8 shard=head_dim=a}"
// RUN: llm-judge %s --entry=rope --pipeline="tessera-shard{mesh=a=3 shard=head_dim=a}"
// RUN: llm-judge %s --entry=adjacent --pipeline="tessera-shard{mesh=a=3 shard=head_dim=a}"
// RUN: llm-judge %s --entry=part --pipeline="tessera-shard{mesh=a=3 shard=head_dim=a}"
// RUN: llm-judge %s --entry=rope --pipeline="tessera-shard{mesh=a=5 shard=head_dim=a}"
// RUN: llm-judge %s --entry=adjacent --pipeline="tessera-shard{mesh=a=5 shard=head_dim=a}"
// RUN: llm-judge %s --entry=part --pipeline="tessera-shard{mesh=a=5 shard=head_dim=a}"
func.func @rope(%x: tensor<4x16x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]}) -> (tensor<4x16x8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.rope half %x, %p frequencies = [1.0, 0.1, 0.01, 0.001] : (tensor<4x16x8x8xf32>, tensor<4x16xi32>) -> tensor<4x16x8x8xf32>
  %o = graph.name %y "out" ["batch", "seq", "kv_heads", "head_dim"] : tensor<4x16x8x8xf32>
  return %o : tensor<4x16x8x8xf32>
}
func.func @adjacent(%x: tensor<4x16x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]}) -> (tensor<4x16x8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.rope adjacent %x, %p frequencies = [1.0, 0.1, 0.01, 0.001] : (tensor<4x16x8x8xf32>, tensor<4x16xi32>) -> tensor<4x16x8x8xf32>
  %o = graph.name %y "out" ["batch", "seq", "kv_heads", "head_dim"] : tensor<4x16x8x8xf32>
  return %o : tensor<4x16x8x8xf32>
}
func.func @part(%x: tensor<4x16x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]}) -> (tensor<4x16x8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.rope half %x, %p frequencies = [1.0, 0.1, 0.01] : (tensor<4x16x8x8xf32>, tensor<4x16xi32>) -> tensor<4x16x8x8xf32>
  %o = graph.name %y "out" ["batch", "seq", "kv_heads", "head_dim"] : tensor<4x16x8x8xf32>
  return %o : tensor<4x16x8x8xf32>
}
