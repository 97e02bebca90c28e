// One position of a sharded sequence: every rank gives the row it holds, or zeros, and one row per sequence is summed; the hidden states
// stay where they are, where sizes do not divide as well.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,sp=4" | FileCheck %s
// RUN: llm-opt %s --tessera-shard="mesh=sp=5" | FileCheck %s --check-prefix=ODD
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,sp=4" --remarks-filter=dist --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK-LABEL: func.func @last
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: %[[T:.*]] = graph.take %arg0, %arg1 {{.*}} -> tensor<2x1x64xf32, #dist.sharding<@mesh, [{"dp"}, {}, {}], partial=sum{"sp"}, global=[4, 1, 64]>>
// CHECK-NEXT: dist.all_reduce %[[T]] axes = {"sp"} {why = "take reduces over seq, sharded over {sp}; silu needs the sum"}
// CHECK-NEXT: graph.silu
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: return

// 17 positions over 5 ranks: no padding is taken, none needs a mask.
// ODD-LABEL: func.func @last
// ODD-NOT: mask_padding
// ODD: graph.take %arg0, %arg1 : (tensor<4x4x64xf32, {{.*}} -> tensor<4x1x64xf32, {{.*}}partial=sum{"sp"}
// ODD-NEXT: dist.all_reduce
// ODD-NOT: dist.{{all|reduce|coll}}

// REMARK-NOT: Missed
// REMARK: Passed{{.*}}collective{{.*}}AR to [dp/-/-], 768 bytes received per rank: take reduces over seq, sharded over {sp}
// REMARK-NOT: Missed
func.func @last(%x: tensor<4x17x64xf32> {graph.kind = #graph.kind<input>, graph.name = "hidden", graph.dims = ["batch", "seq", "hidden"]},
    %i: tensor<4xi32> {graph.kind = #graph.kind<input>, graph.name = "index", graph.dims = ["batch"]})
    -> (tensor<4x1x64xf32> {graph.name = "row"}) {
  %0 = graph.take %x, %i : (tensor<4x17x64xf32>, tensor<4xi32>) -> tensor<4x1x64xf32>
  %1 = graph.silu %0 : tensor<4x1x64xf32>
  return %1 : tensor<4x1x64xf32>
}
