// T10: a norm over a hidden dimension that is sharded: one number per token travels. Other norms: test/Pipelines/shard-sums.mlir.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4 shard=hidden=tp" | FileCheck %s
// RUN: llm-opt %s --tessera-explain="mesh=dp=2,tp=4 shard=hidden=tp" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4 shard=hidden=tp}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=3 shard=hidden=tp}"

// BYTES: step (T10): per rank 192 collective bytes in 1 collectives,

// CHECK-LABEL: func.func @T10
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {{.*}} -> tensor<2x16{{(x1)?}}xf32, #dist.sharding<@mesh, [{"dp"}, {}
// CHECK-NOT: dist.{{all|reduce|coll}}

func.func @T10(%x: tensor<4x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %g: tensor<64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "g", graph.dims = ["hidden"]})
    -> (tensor<4x16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %n = graph.rms_norm %x, %g eps = 1.000000e-05 : (tensor<4x16x64xf32>, tensor<64xf32>) -> tensor<4x16x64xf32>
  %y = graph.name %n "y" ["batch", "seq", "hidden"] : tensor<4x16x64xf32>
  return %y : tensor<4x16x64xf32>
}
