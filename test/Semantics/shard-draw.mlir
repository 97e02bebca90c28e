// Same tokens after sharding: rows and vocabulary over axes that do and do not divide them; logits are gathered, each rank draws its own rows.
// RUN: llm-judge %s --runs=5 --pipeline="tessera-shard{mesh=dp=2}"
// RUN: llm-judge %s --runs=5 --pipeline="tessera-shard{mesh=dp=4}"
// RUN: llm-judge %s --runs=5 --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --runs=5 --pipeline="tessera-shard{mesh=dp=2,tp=3 shard=vocab=tp}"
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --mesh=dp=2,tp=3 --shard=vocab=tp
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=2 shard=vocab=tp" | FileCheck %s

// CHECK: %[[ALL:.*]] = dist.all_gather
// CHECK: graph.draw %[[ALL]]
// CHECK-SAME: -> tensor<2x1xi32
// CHECK-NOT: dist.all_
func.func @draw(%x: tensor<3x1x13xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "vocab"]},
    %prompts: tensor<3x1xi32> {graph.kind = #graph.kind<input>, graph.name = "prompts", graph.dims = ["batch", "seq"]},
    %counts: tensor<3x1xi32> {graph.kind = #graph.kind<input>, graph.name = "counts", graph.dims = ["batch", "seq"]},
    %seed: tensor<i64> {graph.kind = #graph.kind<input>, graph.name = "seed"},
    %t: tensor<f64> {graph.kind = #graph.kind<input>, graph.name = "t"},
    %k: tensor<i32> {graph.kind = #graph.kind<input>, graph.name = "k"},
    %p: tensor<f64> {graph.kind = #graph.kind<input>, graph.name = "p"},
    %m: tensor<f64> {graph.kind = #graph.kind<input>, graph.name = "m"})
    -> (tensor<3x1xi32> {graph.kind = #graph.kind<output>, graph.name = "ids"}, tensor<3x1xi32> {graph.kind = #graph.kind<output>, graph.name = "of_all"}) {
  // Both are above 0.
  %least = graph.constant dense<0.05> : tensor<f64> : tensor<f64>
  %t0 = graph.abs %t : tensor<f64>
  %t1 = graph.add %t0, %least : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %p0 = graph.abs %p : tensor<f64>
  %p1 = graph.add %p0, %least : (tensor<f64>, tensor<f64>) -> tensor<f64>
  // From 0 to 1.
  %m1 = graph.abs %m : tensor<f64>
  %m0 = graph.constant dense<0.0> : tensor<f64> : tensor<f64>
  %ids = graph.draw %x, %prompts, %counts seed = %seed temperature = %t1 top_k = %k top_p = %p1 min_p = %m1
      : (tensor<3x1x13xf32>, tensor<3x1xi32>, tensor<3x1xi32>, tensor<i64>, tensor<f64>, tensor<i32>, tensor<f64>, tensor<f64>) -> tensor<3x1xi32>
  %zero = graph.constant dense<0> : tensor<i32> : tensor<i32>
  %one = graph.constant dense<1.0> : tensor<f64> : tensor<f64>
  %all = graph.draw %x, %prompts, %counts seed = %seed temperature = %t1 top_k = %zero top_p = %one min_p = %m0
      : (tensor<3x1x13xf32>, tensor<3x1xi32>, tensor<3x1xi32>, tensor<i64>, tensor<f64>, tensor<i32>, tensor<f64>, tensor<f64>) -> tensor<3x1xi32>
  return %ids, %all : tensor<3x1xi32>, tensor<3x1xi32>
}
