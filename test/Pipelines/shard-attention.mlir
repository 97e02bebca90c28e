// T3, T18: attention by heads is local; only the output projection's sum is reduced, in prefill and in decode alike. Key and value heads
// that do not divide are padded by whole heads, and masked nowhere: the projection's weight is a parameter.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s --check-prefixes=CHECK,TP4
// RUN: llm-opt %s --tessera-shard="mesh=tp=3" | FileCheck %s --check-prefixes=CHECK,TP3
// RUN: llm-opt %s --tessera-shard="mesh=sp=2,tp=2" | FileCheck %s --check-prefix=SP

// CHECK-LABEL: func.func @attention
// CHECK-NOT: mask_padding
// CHECK-NOT: dist.{{all|reduce|coll}}
// TP4: graph.attention {{.*}} -> tensor<2x16x2x1x8xf32, #dist.sharding<@mesh, [{"dp"}, {}, {"tp"}, {}, {}], global=[4, 16, 8, 1, 8]>>
// TP3: graph.attention {{.*}} -> tensor<4x16x3x1x8xf32, #dist.sharding<@mesh, [{}, {}, {"tp"}, {}, {}], global=[4, 16, 8, 1, 8]>>
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {why = "linear reduces over kv_heads, sharded over {tp}; the caller needs the sum"}
// CHECK-NOT: dist.{{all|reduce|coll}}

// Over sp, queries stay where they are, new keys and values are gathered before they go into the cache;
// positions every rank has.
// SP-LABEL: func.func @attention
// SP: %[[K:.*]] = dist.all_gather %{{.*}} dim = 1 axes = {"sp"} {why = "cache_update needs seq whole, not over {sp}"}
// SP: graph.cache_update %{{.*}}[%{{.*}}], %[[K]], %arg1
// SP: graph.attention {{.*}} -> tensor<4x8x4x1x8xf32, #dist.sharding<@mesh, [{}, {"sp"}, {"tp"}, {}, {}], global=[4, 16, 8, 1, 8]>>
func.func @attention(%x: tensor<4x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
    %wq: tensor<8x1x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<8x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wv: tensor<8x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wo: tensor<64x8x1x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "kv_heads", "group", "head_dim"]},
    %kc: tensor<1x4x32x8x8xf32> {graph.kind = #graph.kind<state>, graph.name = "k_cache", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]},
    %vc: tensor<1x4x32x8x8xf32> {graph.kind = #graph.kind<state>, graph.name = "v_cache", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]})
    -> (tensor<4x16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"},
        tensor<1x4x32x8x8xf32> {graph.kind = #graph.kind<state>, graph.name = "k_cache"}, tensor<1x4x32x8x8xf32> {graph.kind = #graph.kind<state>, graph.name = "v_cache"}) {
  %i = graph.constant dense<0> : tensor<i32> : tensor<i32>
  %q = graph.linear %x, %wq contract = 1 : (tensor<4x16x64xf32>, tensor<8x1x8x64xf32>) -> tensor<4x16x8x1x8xf32>
  %k = graph.linear %x, %wk contract = 1 : (tensor<4x16x64xf32>, tensor<8x8x64xf32>) -> tensor<4x16x8x8xf32>
  %v = graph.linear %x, %wv contract = 1 : (tensor<4x16x64xf32>, tensor<8x8x64xf32>) -> tensor<4x16x8x8xf32>
  %k1 = graph.cache_update %kc[%i], %k, %p : (tensor<1x4x32x8x8xf32>, tensor<4x16x8x8xf32>, tensor<i32>, tensor<4x16xi32>) -> tensor<1x4x32x8x8xf32>
  %v1 = graph.cache_update %vc[%i], %v, %p : (tensor<1x4x32x8x8xf32>, tensor<4x16x8x8xf32>, tensor<i32>, tensor<4x16xi32>) -> tensor<1x4x32x8x8xf32>
  %k2 = graph.layer_slice %k1[%i] : (tensor<1x4x32x8x8xf32>, tensor<i32>) -> tensor<4x32x8x8xf32>
  %v2 = graph.layer_slice %v1[%i] : (tensor<1x4x32x8x8xf32>, tensor<i32>) -> tensor<4x32x8x8xf32>
  %a = graph.attention %q, %k2, %v2, %p scale = 0.35 : (tensor<4x16x8x1x8xf32>, tensor<4x32x8x8xf32>, tensor<4x32x8x8xf32>, tensor<4x16xi32>) -> tensor<4x16x8x1x8xf32>
  %o = graph.linear %a, %wo contract = 3 : (tensor<4x16x8x1x8xf32>, tensor<64x8x1x8xf32>) -> tensor<4x16x64xf32>
  return %o, %k1, %v1 : tensor<4x16x64xf32>, tensor<1x4x32x8x8xf32>, tensor<1x4x32x8x8xf32>
}
