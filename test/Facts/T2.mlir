// T2: as T1 with the residual stream split over tp (Megatron): one gather before, one scatter after, no all_reduce (XLA's CPU back end
// emits one).
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4 shard=residual:seq=tp" | FileCheck %s
// RUN: llm-opt %s --tessera-explain="mesh=dp=2,tp=4 shard=residual:seq=tp" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4 shard=residual:seq=tp" --remarks-filter=dist --remark-format=emitRemark --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=PINS --implicit-check-not="do not agree"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4 shard=residual:seq=tp}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=3 shard=residual:seq=tp}"

// BYTES: step (T2): per rank 12288 collective bytes in 2 collectives,

// One value pinned twice agrees with itself; what lies between runs otherwise.
// PINS: Missed{{.*}}pins{{.*}}residual is pinned to [dp/tp/-] twice; rms_norm, linear, silu, linear, add between the two run otherwise: a rank receives 12288 bytes

// CHECK-LABEL: func.func @T2
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_slice %{{.*}} dim = 1 axes = {"tp"} {why = "residual needs seq over {tp}"}{{.*}} -> tensor<2x4x64xf32, #dist.sharding<@mesh, [{"dp"}, {"tp"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 1 axes = {"tp"} {why = "linear needs seq whole, not over {tp}"}{{.*}} -> tensor<2x16x64xf32, #dist.sharding<@mesh, [{"dp"}, {}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.reduce_scatter %{{.*}} dim = 1 axes = {"tp"} {why = "linear reduces over ffn, sharded over {tp}; add needs seq over {tp}"}{{.*}} -> tensor<2x4x64xf32, #dist.sharding<@mesh, [{"dp"}, {"tp"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}

func.func @T2(%x: tensor<4x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %g: tensor<64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "norm", graph.dims = ["hidden"]},
    %w1: tensor<256x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["ffn", "hidden"]},
    %w2: tensor<64x256xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["hidden", "ffn"]})
    -> (tensor<4x16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %r = graph.name %x "residual" ["batch", "seq", "hidden"] : tensor<4x16x64xf32>
  %n = graph.rms_norm %r, %g eps = 1.000000e-05 : (tensor<4x16x64xf32>, tensor<64xf32>) -> tensor<4x16x64xf32>
  %h = graph.linear %n, %w1 contract = 1 : (tensor<4x16x64xf32>, tensor<256x64xf32>) -> tensor<4x16x256xf32>
  %a = graph.silu %h : tensor<4x16x256xf32>
  %o = graph.linear %a, %w2 contract = 1 : (tensor<4x16x256xf32>, tensor<64x256xf32>) -> tensor<4x16x64xf32>
  %s = graph.add %r, %o : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  %y = graph.name %s "residual" ["batch", "seq", "hidden"] : tensor<4x16x64xf32>
  return %y : tensor<4x16x64xf32>
}
