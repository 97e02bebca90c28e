// T6: a lookup in a table split by rows: each rank what it has, then one sum; scattered where the stream is split over tp.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s
// RUN: llm-opt %s --tessera-explain="mesh=dp=2,tp=4" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=3}"
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4 shard=residual:seq=tp" | FileCheck %s --check-prefix=SP
// RUN: llm-opt %s --tessera-explain="mesh=dp=2,tp=4 shard=residual:seq=tp" -o /dev/null 2>&1 | FileCheck %s --check-prefix=SPBYTES
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4 shard=residual:seq=tp}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=3 shard=residual:seq=tp}"

// BYTES: step (T6): per rank 12288 collective bytes in 1 collectives,

// CHECK-LABEL: func.func @T6
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {{.*}} -> tensor<2x16x64xf32, #dist.sharding<@mesh, [{"dp"}, {}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}

// SPBYTES: step (T6): per rank 6144 collective bytes in 1 collectives,

// SP-LABEL: func.func @T6
// SP-NOT: dist.{{all|reduce|coll}}
// SP: dist.reduce_scatter %{{.*}} dim = 1 axes = {"tp"} {{.*}} -> tensor<2x4x64xf32, #dist.sharding<@mesh, [{"dp"}, {"tp"}, {}]
// SP-NOT: dist.{{all|reduce|coll}}

func.func @T6(%ids: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
    %table: tensor<512x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "embedding", graph.dims = ["vocab", "hidden"]})
    -> (tensor<4x16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %e = graph.embedding %table, %ids : (tensor<512x64xf32>, tensor<4x16xi32>) -> tensor<4x16x64xf32>
  %y = graph.name %e "residual" ["batch", "seq", "hidden"] : tensor<4x16x64xf32>
  return %y : tensor<4x16x64xf32>
}
