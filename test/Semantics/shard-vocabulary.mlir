// Same numbers after sharding: lookup, head and arg-max over a vocabulary of 13, one table for both.
// RUN: llm-judge %s --pipeline="tessera-shard{}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=5}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=fsdp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=fsdp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=4 shard=vocab=tp:(1)2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=2 shard=hidden=a}"
func.func @tied(%ids: tensor<3x2xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
    %table: tensor<13x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "embedding", graph.dims = ["vocab", "hidden"]})
    -> (tensor<3x2x13xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}, tensor<3x2xi32> {graph.kind = #graph.kind<output>, graph.name = "next"},
        tensor<3x2x13xf32> {graph.kind = #graph.kind<output>, graph.name = "probabilities"}) {
  %e = graph.embedding %table, %ids : (tensor<13x6xf32>, tensor<3x2xi32>) -> tensor<3x2x6xf32>
  %h = graph.silu %e : tensor<3x2x6xf32>
  %l = graph.linear %h, %table contract = 1 : (tensor<3x2x6xf32>, tensor<13x6xf32>) -> tensor<3x2x13xf32>
  // All logits below zero: a padded zero would win if it were not masked.
  %big = graph.constant dense<-100.0> : tensor<13xf32> : tensor<13xf32>
  %low = graph.add %l, %big : (tensor<3x2x13xf32>, tensor<13xf32>) -> tensor<3x2x13xf32>
  %k = graph.arg_max_key %low : (tensor<3x2x13xf32>) -> tensor<3x2xi64>
  %n = graph.arg_max_index %k : (tensor<3x2xi64>) -> tensor<3x2xi32>
  %p = graph.softmax %l : tensor<3x2x13xf32>
  return %l, %n, %p : tensor<3x2x13xf32>, tensor<3x2xi32>, tensor<3x2x13xf32>
}
