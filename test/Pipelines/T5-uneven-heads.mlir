// T5: heads that do not divide are padded whole, never cut; KV heads with their groups, where that leaves a rank less than copies would. The
// choice is a remark with what it wastes.
// RUN: split-file %s %t
// RUN: llm-opt %t/thirty.mlir --tessera-shard="mesh=tp=4" --remarks-filter=dist --remark-format=emitRemark 2>&1 | FileCheck %t/thirty.mlir
// RUN: llm-opt %t/nine.mlir --tessera-shard="mesh=tp=2" --remarks-filter=dist --remark-format=emitRemark 2>&1 | FileCheck %t/nine.mlir --check-prefixes=CHECK,TWO
// RUN: llm-opt %t/nine.mlir --tessera-shard="mesh=tp=4" --remarks-filter=dist --remark-format=emitRemark 2>&1 | FileCheck %t/nine.mlir --check-prefixes=CHECK,FOUR
// RUN: llm-opt %t/one.mlir --tessera-shard="mesh=tp=2" --remarks-filter=dist --remark-format=emitRemark 2>&1 | FileCheck %t/one.mlir
// RUN: llm-opt %t/wide.mlir --tessera-shard="mesh=tp=4" --remarks-filter=dist --remark-format=emitRemark 2>&1 | FileCheck %t/wide.mlir

//--- thirty.mlir
// 30 heads become 32, 8 a rank.
// CHECK: heads over tp: KV heads over tp; 16384 bytes of weights and caches a rank, 1024 of them padding or copies
// CHECK: func.func @thirty
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: graph.attention {{.*}} -> tensor<2x4x8x1x8xf32, #dist.sharding<@mesh, [{}, {}, {"tp"}, {}, {}], global=[2, 4, 30, 1, 8]>>
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"}
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @thirty(%x: tensor<2x4x16xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<2x4xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
    %wq: tensor<30x1x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<30x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wv: tensor<30x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wo: tensor<16x30x1x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "kv_heads", "group", "head_dim"]})
    -> (tensor<2x4x16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %q = graph.linear %x, %wq contract = 1 : (tensor<2x4x16xf32>, tensor<30x1x8x16xf32>) -> tensor<2x4x30x1x8xf32>
  %k = graph.linear %x, %wk contract = 1 : (tensor<2x4x16xf32>, tensor<30x8x16xf32>) -> tensor<2x4x30x8xf32>
  %v = graph.linear %x, %wv contract = 1 : (tensor<2x4x16xf32>, tensor<30x8x16xf32>) -> tensor<2x4x30x8xf32>
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<2x4x30x1x8xf32>, tensor<2x4x30x8xf32>, tensor<2x4x30x8xf32>, tensor<2x4xi32>) -> tensor<2x4x30x1x8xf32>
  %o = graph.linear %a, %wo contract = 3 : (tensor<2x4x30x1x8xf32>, tensor<16x30x1x8xf32>) -> tensor<2x4x16xf32>
  return %o : tensor<2x4x16xf32>
}

//--- nine.mlir
// 3 KV heads become 4, 9 query heads 12: 2 and 6 a rank, or 1 and 3.
// TWO: heads over tp: KV heads over tp; 8192 bytes of weights and caches a rank, 2048 of them padding or copies
// FOUR: heads over tp: KV heads over tp; 4096 bytes of weights and caches a rank, 1024 of them padding or copies
// CHECK: func.func @nine
// CHECK-NOT: dist.{{all|reduce|coll}}
// TWO: graph.attention {{.*}} -> tensor<2x4x2x3x8xf32, #dist.sharding<@mesh, [{}, {}, {"tp"}, {}, {}], global=[2, 4, 3, 3, 8]>>
// FOUR: graph.attention {{.*}} -> tensor<2x4x1x3x8xf32, #dist.sharding<@mesh, [{}, {}, {"tp"}, {}, {}], global=[2, 4, 3, 3, 8]>>
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"}
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @nine(%x: tensor<2x4x16xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<2x4xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
    %wq: tensor<3x3x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<3x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wv: tensor<3x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wo: tensor<16x3x3x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "kv_heads", "group", "head_dim"]})
    -> (tensor<2x4x16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %q = graph.linear %x, %wq contract = 1 : (tensor<2x4x16xf32>, tensor<3x3x8x16xf32>) -> tensor<2x4x3x3x8xf32>
  %k = graph.linear %x, %wk contract = 1 : (tensor<2x4x16xf32>, tensor<3x8x16xf32>) -> tensor<2x4x3x8xf32>
  %v = graph.linear %x, %wv contract = 1 : (tensor<2x4x16xf32>, tensor<3x8x16xf32>) -> tensor<2x4x3x8xf32>
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<2x4x3x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4xi32>) -> tensor<2x4x3x3x8xf32>
  %o = graph.linear %a, %wo contract = 3 : (tensor<2x4x3x3x8xf32>, tensor<16x3x3x8xf32>) -> tensor<2x4x16xf32>
  return %o : tensor<2x4x16xf32>
}

//--- one.mlir
// 9 query heads on one KV head: padding KV heads would leave a rank 9, so the KV head is copied and query heads become 10, 5 a rank.
// CHECK: heads over tp: KV heads copied, their groups over tp, which copies keys and values; 6144 bytes of weights and caches a rank
// CHECK: func.func @one
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: graph.attention {{.*}} -> tensor<2x4x1x5x8xf32, #dist.sharding<@mesh, [{}, {}, {}, {"tp"}, {}], global=[2, 4, 1, 9, 8]>>
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"}
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @one(%x: tensor<2x4x16xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<2x4xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
    %wq: tensor<1x9x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<1x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wv: tensor<1x8x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wo: tensor<16x1x9x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "kv_heads", "group", "head_dim"]})
    -> (tensor<2x4x16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %q = graph.linear %x, %wq contract = 1 : (tensor<2x4x16xf32>, tensor<1x9x8x16xf32>) -> tensor<2x4x1x9x8xf32>
  %k = graph.linear %x, %wk contract = 1 : (tensor<2x4x16xf32>, tensor<1x8x16xf32>) -> tensor<2x4x1x8xf32>
  %v = graph.linear %x, %wv contract = 1 : (tensor<2x4x16xf32>, tensor<1x8x16xf32>) -> tensor<2x4x1x8xf32>
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<2x4x1x9x8xf32>, tensor<2x4x1x8xf32>, tensor<2x4x1x8xf32>, tensor<2x4xi32>) -> tensor<2x4x1x9x8xf32>
  %o = graph.linear %a, %wo contract = 3 : (tensor<2x4x1x9x8xf32>, tensor<16x1x9x8xf32>) -> tensor<2x4x16xf32>
  return %o : tensor<2x4x16xf32>
}

//--- wide.mlir
// 30 heads of 64: 30 * 64 divides by 4, heads do not; 8 whole heads a rank.
// CHECK: func.func @wide
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: graph.attention {{.*}} -> tensor<2x4x8x1x64xf32, #dist.sharding<@mesh, [{}, {}, {"tp"}, {}, {}], global=[2, 4, 30, 1, 64]>>
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"}
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @wide(%x: tensor<2x4x16xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<2x4xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
    %wq: tensor<30x1x64x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<30x64x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wv: tensor<30x64x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wo: tensor<16x30x1x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "kv_heads", "group", "head_dim"]})
    -> (tensor<2x4x16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %q = graph.linear %x, %wq contract = 1 : (tensor<2x4x16xf32>, tensor<30x1x64x16xf32>) -> tensor<2x4x30x1x64xf32>
  %k = graph.linear %x, %wk contract = 1 : (tensor<2x4x16xf32>, tensor<30x64x16xf32>) -> tensor<2x4x30x64xf32>
  %v = graph.linear %x, %wv contract = 1 : (tensor<2x4x16xf32>, tensor<30x64x16xf32>) -> tensor<2x4x30x64xf32>
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<2x4x30x1x64xf32>, tensor<2x4x30x64xf32>, tensor<2x4x30x64xf32>, tensor<2x4xi32>) -> tensor<2x4x30x1x64xf32>
  %o = graph.linear %a, %wo contract = 3 : (tensor<2x4x30x1x64xf32>, tensor<16x30x1x64xf32>) -> tensor<2x4x16xf32>
  return %o : tensor<2x4x16xf32>
}
