// T19: the largest of a sharded, padded vocabulary: pairs of value and id travel, 8 bytes a row, never the logits; padding never wins.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s
// RUN: llm-opt %s --tessera-explain="mesh=dp=2,tp=4" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=3}"

// BYTES: step (T19): per rank 24 collective bytes in 1 collectives,

// CHECK-LABEL: func.func @T19
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {{.*}} -> tensor<2x1xi64, #dist.sharding<@mesh, [{"dp"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}

func.func @T19(%l: tensor<4x1x509xf32> {graph.kind = #graph.kind<input>, graph.name = "logits", graph.dims = ["batch", "seq", "vocab"]})
    -> (tensor<4x1xi32> {graph.kind = #graph.kind<output>, graph.name = "next"}) {
  %k = graph.arg_max_key %l : (tensor<4x1x509xf32>) -> tensor<4x1xi64>
  %n = graph.arg_max_index %k : (tensor<4x1xi64>) -> tensor<4x1xi32>
  return %n : tensor<4x1xi32>
}
