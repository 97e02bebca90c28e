// T7: same numbers where the vocabulary is sharded and padded (389 over 8), where rows are, and where some labels lie outside and are ignored.
// RUN: llm-judge %s --pipeline="tessera-shard{}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=8}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=3,tp=5}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=2,tp=4}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=8 shard=vocab=tp:(2)4}"
func.func @loss(%logits: tensor<4x16x389xf32> {graph.kind = #graph.kind<input>, graph.name = "logits", graph.dims = ["batch", "seq", "vocab"]},
    %labels: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "labels", graph.dims = ["batch", "seq"]})
    -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<f32>) {
  // Multiples of 65: in most pieces, 390 in the padding of the last one (389 to 391, over 4 and 8 ranks), 455 outside.
  %far = graph.constant dense<65> : tensor<i32> : tensor<i32>
  %picked = graph.mul %labels, %far : (tensor<4x16xi32>, tensor<i32>) -> tensor<4x16xi32>
  %loss, %lse = graph.cross_entropy %logits, %picked : (tensor<4x16x389xf32>, tensor<4x16xi32>) -> (tensor<4x16xf32>, tensor<4x16xf32>)
  %sum = graph.reduce sum %loss dims = [0, 1] : (tensor<4x16xf32>) -> tensor<f32>
  return %loss, %lse, %sum : tensor<4x16xf32>, tensor<4x16xf32>, tensor<f32>
}
