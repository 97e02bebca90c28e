// T20: one table for lookup and head: one sum after the lookup, logits stay where they are; the table is never moved.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s
// RUN: llm-opt %s --tessera-explain="mesh=dp=2,tp=4" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=3}"

// BYTES: step (T20): per rank 12288 collective bytes in 1 collectives,

// CHECK-LABEL: func.func @T20
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {{.*}} -> tensor<2x16x64xf32, #dist.sharding<@mesh, [{"dp"}, {}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}

func.func @T20(%ids: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
    %table: tensor<512x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "embedding", graph.dims = ["vocab", "hidden"]})
    -> (tensor<4x16x512xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %e = graph.embedding %table, %ids : (tensor<512x64xf32>, tensor<4x16xi32>) -> tensor<4x16x64xf32>
  %h = graph.silu %e : tensor<4x16x64xf32>
  %l = graph.linear %h, %table contract = 1 : (tensor<4x16x64xf32>, tensor<512x64xf32>) -> tensor<4x16x512xf32>
  %y = graph.name %l "logits" ["batch", "seq", "vocab"] : tensor<4x16x512xf32>
  return %y : tensor<4x16x512xf32>
}
