// T1, T2: an MLP over dp2 tp4 needs one all_reduce; with the residual stream split over tp (Megatron), one gather and one scatter.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s --check-prefix=TP
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4 shard=residual:seq=tp" | FileCheck %s --check-prefix=MEGATRON
// RUN: llm-opt %s --tessera-shard="mesh=dp=4" | FileCheck %s --check-prefix=DP
// RUN: llm-opt %s --tessera-shard="mesh=" | FileCheck %s --check-prefix=NONE

// TP-NOT: dist.all_gather
// TP: graph.linear {{.*}} -> tensor<2x16x64xf32, #dist.sharding<@mesh, [{"dp"}, {}, {"tp"}], global=[4, 16, 256]>>
// TP: graph.linear {{.*}}partial=sum{"tp"}
// TP-NEXT: dist.all_reduce %{{.*}} axes = {"tp"} {why = "linear reduces over ffn, sharded over {tp}; add needs the sum"}
// TP-NOT: dist.{{all|reduce|coll}}

// MEGATRON: graph.rms_norm {{.*}} -> tensor<2x4x64xf32, #dist.sharding<@mesh, [{"dp"}, {"tp"}, {}], global=[4, 16, 64]>>
// MEGATRON-NEXT: dist.all_gather %{{.*}} dim = 1 axes = {"tp"}
// MEGATRON-NOT: dist.all_reduce
// MEGATRON: dist.reduce_scatter %{{.*}} dim = 1 axes = {"tp"}
// MEGATRON-NEXT: graph.add
// MEGATRON-NOT: dist.all

// DP-NOT: dist.{{all|reduce|coll}}
// NONE: dist.mesh @mesh = <[]>
// NONE-NOT: dist.{{all|reduce|coll}}
func.func @forward(%x: tensor<4x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
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
