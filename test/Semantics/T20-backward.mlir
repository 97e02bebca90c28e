// T7, T20: loss of a tied embedding and its backward pass, written by hand: same numbers on every mesh. Labels are below 8 and at times ignored (-1 after the
// shift); the vocabulary of 13 divides by nothing.
// RUN: llm-judge %s --pipeline="tessera-shard{}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=5}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=8}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=3,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=fsdp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=fsdp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=4 shard=vocab=tp:(1)2}"
func.func @step(%ids: tensor<4x6xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
    %shifted: tensor<4x6xi32> {graph.kind = #graph.kind<input>, graph.name = "labels", graph.dims = ["batch", "seq"]},
    %table: tensor<13x10xf32> {graph.kind = #graph.kind<parameter>, graph.name = "embedding", graph.dims = ["vocab", "hidden"]})
    -> (tensor<f32> {graph.name = "loss"}, tensor<13x10xf32> {graph.name = "embedding"}) {
  %one = graph.constant dense<1> : tensor<i32> : tensor<i32>
  %labels = graph.sub %shifted, %one : (tensor<4x6xi32>, tensor<i32>) -> tensor<4x6xi32>
  %e = graph.embedding %table, %ids : (tensor<13x10xf32>, tensor<4x6xi32>) -> tensor<4x6x10xf32>
  %l = graph.linear %e, %table contract = 1 : (tensor<4x6x10xf32>, tensor<13x10xf32>) -> tensor<4x6x13xf32>
  %loss, %lse = graph.cross_entropy %l, %labels : (tensor<4x6x13xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  %sum = graph.reduce sum %loss dims = [0, 1] : (tensor<4x6xf32>) -> tensor<f32>
  // Backward of the loss: exp(logit - lse) - one-hot, or 0 for an ignored label.
  %z = graph.constant dense<0.0> : tensor<f32> : tensor<f32>
  %zero = graph.constant dense<0> : tensor<i32> : tensor<i32>
  %o = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  %lse1 = graph.reshape %lse : (tensor<4x6xf32>) -> tensor<4x6x1xf32>
  %label1 = graph.reshape %labels : (tensor<4x6xi32>) -> tensor<4x6x1xi32>
  %below = graph.sub %l, %lse1 : (tensor<4x6x13xf32>, tensor<4x6x1xf32>) -> tensor<4x6x13xf32>
  %p = graph.exp %below : tensor<4x6x13xf32>
  %rows = graph.iota dim = 0 : tensor<13xi32>
  %hit = graph.compare eq %label1, %rows : (tensor<4x6x1xi32>, tensor<13xi32>) -> tensor<4x6x13xi1>
  %hot = graph.select %hit, %o, %z : (tensor<4x6x13xi1>, tensor<f32>, tensor<f32>) -> tensor<4x6x13xf32>
  %all = graph.sub %p, %hot : (tensor<4x6x13xf32>, tensor<4x6x13xf32>) -> tensor<4x6x13xf32>
  %counts = graph.compare ge %label1, %zero : (tensor<4x6x1xi32>, tensor<i32>) -> tensor<4x6x1xi1>
  %dl = graph.select %counts, %all, %z : (tensor<4x6x1xi1>, tensor<4x6x13xf32>, tensor<f32>) -> tensor<4x6x13xf32>
  // The table's two gradients.
  %tablet = graph.transpose %table [1, 0] : (tensor<13x10xf32>) -> tensor<10x13xf32>
  %de = graph.linear %dl, %tablet contract = 1 : (tensor<4x6x13xf32>, tensor<10x13xf32>) -> tensor<4x6x10xf32>
  %dlt = graph.transpose %dl [2, 0, 1] : (tensor<4x6x13xf32>) -> tensor<13x4x6xf32>
  %et = graph.transpose %e [2, 0, 1] : (tensor<4x6x10xf32>) -> tensor<10x4x6xf32>
  %dhead = graph.linear %dlt, %et contract = 2 : (tensor<13x4x6xf32>, tensor<10x4x6xf32>) -> tensor<13x10xf32>
  %dlookup = graph.scatter_add %de, %ids : (tensor<4x6x10xf32>, tensor<4x6xi32>) -> tensor<13x10xf32>
  %dtable = graph.add %dhead, %dlookup : (tensor<13x10xf32>, tensor<13x10xf32>) -> tensor<13x10xf32>
  return %sum, %dtable : tensor<f32>, tensor<13x10xf32>
}
