// T4: two KV heads over tp4. Keys and values lie on the major half of tp and are copies over the minor one, on which their groups lie: query
// heads are where whole ones would be, nothing is gathered, and only the output projection's sum is reduced. Backward, the copies' gradients of
// the weights are what is summed over the minor half, and nothing else.
// RUN: llm-opt %s --tessera-shard="mesh=tp=4" | FileCheck %s
// RUN: llm-opt %s --tessera-shard="mesh=tp=4" | FileCheck %s --check-prefix=BACK
// RUN: llm-opt %s --tessera-shard="mesh=a=4 shard=heads=a" | FileCheck %s --check-prefix=HEADS
// RUN: llm-opt %s --tessera-shard="mesh=tp=4" --remarks-filter=dist --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: heads over tp: KV heads over tp:(1)2, their groups over tp:(2)2, which copies keys and values; 12288 bytes of weights and caches a rank, 2048 of them padding or copies

// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s --check-prefix=MESH

// MESH-LABEL: func.func @attention
// MESH-NOT: dist.{{all|reduce|coll}}
// MESH: graph.attention {{.*}} -> tensor<2x16x1x2x8xf32, #dist.sharding<@mesh, [{"dp"}, {}, {"tp":(1)2}, {"tp":(2)2}, {}]
// MESH-NOT: dist.{{all|reduce|coll}}
// MESH: dist.all_reduce %{{.*}} axes = {"tp"} {why = "linear reduces over kv_heads, group
// MESH-NOT: dist.{{all|reduce|coll}}
// MESH-LABEL: func.func @backward

// With 16 positions the copies' sums are as large as what they make of the weights: reduced there, together with dp, the same bytes in fewer messages.
// RUN: sed -e 's/64x4x64xf32/64x4x16xf32/g; s/x4x64xf32>/x4x16xf32>/g; s/tensor<4x64x/tensor<4x16x/g' %s | llm-opt --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s --check-prefix=SHORT

// SHORT-LABEL: func.func @backward
// SHORT-NOT: dist.{{all|reduce|coll}}
// SHORT-COUNT-2: dist.all_reduce %{{.*}} axes = {"dp", "tp":(2)2} {{.*}} -> tensor<1x8x64xf32,
// SHORT: dist.all_reduce %{{.*}} axes = {"dp"} {{.*}} -> tensor<1x2x8x64xf32,
// SHORT-NOT: dist.{{all|reduce|coll}}

// CHECK-LABEL: func.func @attention
// CHECK-SAME: tensor<1x2x8x64xf32, #dist.sharding<@mesh, [{"tp":(1)2}, {"tp":(2)2}, {}, {}], global=[2, 4, 8, 64]>> {{{[^}]*}}graph.name = "q"
// CHECK-SAME: tensor<1x8x64xf32, #dist.sharding<@mesh, [{"tp":(1)2}, {}, {}], global=[2, 8, 64]>> {{{[^}]*}}graph.name = "k"
// CHECK-SAME: tensor<1x8x64xf32, #dist.sharding<@mesh, [{"tp":(1)2}, {}, {}], global=[2, 8, 64]>> {{{[^}]*}}graph.name = "v"
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: graph.attention {{.*}} -> tensor<4x16x1x2x8xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {why = "linear reduces over kv_heads, group
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK-LABEL: func.func @backward

// BACK-LABEL: func.func @backward
// BACK-NOT: dist.{{all|reduce|coll}}
// BACK-COUNT-2: dist.all_reduce %{{.*}} axes = {"tp":(2)2} {{.*}} -> tensor<1x8x64xf32,
// BACK-NOT: dist.{{all|reduce|coll}}

// Heads asked for by hand are dealt in the same way.
// HEADS: tensor<1x2x8x64xf32, #dist.sharding<@mesh, [{"a":(1)2}, {"a":(2)2}, {}, {}], global=[2, 4, 8, 64]>> {{{[^}]*}}graph.name = "q"
func.func @attention(%x: tensor<4x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
    %wq: tensor<2x4x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<2x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wv: tensor<2x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wo: tensor<64x2x4x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "kv_heads", "group", "head_dim"]})
    -> (tensor<4x16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %q = graph.linear %x, %wq contract = 1 : (tensor<4x16x64xf32>, tensor<2x4x8x64xf32>) -> tensor<4x16x2x4x8xf32>
  %k = graph.linear %x, %wk contract = 1 : (tensor<4x16x64xf32>, tensor<2x8x64xf32>) -> tensor<4x16x2x8xf32>
  %v = graph.linear %x, %wv contract = 1 : (tensor<4x16x64xf32>, tensor<2x8x64xf32>) -> tensor<4x16x2x8xf32>
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<4x16x2x4x8xf32>, tensor<4x16x2x8xf32>, tensor<4x16x2x8xf32>, tensor<4x16xi32>) -> tensor<4x16x2x4x8xf32>
  %o = graph.linear %a, %wo contract = 3 : (tensor<4x16x2x4x8xf32>, tensor<64x2x4x8xf32>) -> tensor<4x16x64xf32>
  return %o : tensor<4x16x64xf32>
}

// The gradients of the keys' and values' weights, from those of each query head's copy of keys and values (dk, dv [.., kv_heads, group, ..]).
func.func @backward(%x: tensor<4x64x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %dk: tensor<4x64x2x4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "dk", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %dv: tensor<4x64x2x4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "dv", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %dq: tensor<4x64x2x4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "dq", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]})
    -> (tensor<2x8x64xf32> {graph.kind = #graph.kind<output>, graph.name = "dwk"}, tensor<2x8x64xf32> {graph.kind = #graph.kind<output>, graph.name = "dwv"},
        tensor<2x4x8x64xf32> {graph.kind = #graph.kind<output>, graph.name = "dwq"}) {
  %xt = graph.transpose %x [2, 0, 1] : (tensor<4x64x64xf32>) -> tensor<64x4x64xf32>
  %dk1 = graph.reduce sum %dk dims = [3] : (tensor<4x64x2x4x8xf32>) -> tensor<4x64x2x8xf32>
  %dv1 = graph.reduce sum %dv dims = [3] : (tensor<4x64x2x4x8xf32>) -> tensor<4x64x2x8xf32>
  %dk2 = graph.transpose %dk1 [2, 3, 0, 1] : (tensor<4x64x2x8xf32>) -> tensor<2x8x4x64xf32>
  %dv2 = graph.transpose %dv1 [2, 3, 0, 1] : (tensor<4x64x2x8xf32>) -> tensor<2x8x4x64xf32>
  %dq2 = graph.transpose %dq [2, 3, 4, 0, 1] : (tensor<4x64x2x4x8xf32>) -> tensor<2x4x8x4x64xf32>
  %dwk = graph.linear %dk2, %xt contract = 2 : (tensor<2x8x4x64xf32>, tensor<64x4x64xf32>) -> tensor<2x8x64xf32>
  %dwv = graph.linear %dv2, %xt contract = 2 : (tensor<2x8x4x64xf32>, tensor<64x4x64xf32>) -> tensor<2x8x64xf32>
  %dwq = graph.linear %dq2, %xt contract = 2 : (tensor<2x4x8x4x64xf32>, tensor<64x4x64xf32>) -> tensor<2x4x8x64xf32>
  return %dwk, %dwv, %dwq : tensor<2x8x64xf32>, tensor<2x8x64xf32>, tensor<2x4x8x64xf32>
}
