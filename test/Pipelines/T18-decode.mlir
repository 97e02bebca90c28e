// T18: one position decoded from a cache. By heads nothing is sent but the sums of the output projection and of the second matrix of the MLP. With the
// cache's context over ranks each attends to its own keys: the maximum of every head and token is combined, then, in one tensor, the weighted
// values and the sum of the weights. The new key and value are written by the rank that has their place. Without a cache that is large enough, gathering it
// would be cheaper: placement prices both.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s --check-prefix=HEADS
// RUN: llm-opt %s --tessera-shard="mesh=cp=2" | FileCheck %s --check-prefixes=CONTEXT,HALF
// RUN: llm-opt %s --tessera-shard="mesh=cp=3" | FileCheck %s --check-prefixes=CONTEXT,THIRD
// RUN: llm-opt %s --tessera-shard="mesh=cp=2,tp=2" | FileCheck %s --check-prefix=BOTH

// HEADS-LABEL: func.func @decode
// HEADS-NOT: dist.{{all|reduce|coll}}
// HEADS: graph.attention
// HEADS-NOT: dist.{{all|reduce|coll}}
// HEADS: dist.all_reduce %{{.*}} axes = {"tp"} {why = "linear reduces over kv_heads
// HEADS-NOT: dist.{{all|reduce|coll}}
// HEADS: dist.all_reduce %{{.*}} axes = {"tp"} {why = "linear reduces over ffn
// HEADS-NOT: dist.{{all|reduce|coll}}
// HEADS: return

// 513 places over 2 or 3 ranks: the last rank's padding is masked before the maximum, once, and the least maximum, a constant, joins after it is known.
// CONTEXT-LABEL: func.func @decode
// CONTEXT-NOT: dist.{{all|reduce|coll}}
// CONTEXT-COUNT-2: graph.cache_update
// CONTEXT-NOT: dist.{{all|reduce|coll}}
// HALF: graph.einsum "bshgd,bchd->bshgc" {{.*}} -> tensor<2x1x4x2x257xf32,
// HALF: graph.mask_padding %{{.*}} dims = [4] value = 0xFFF0000000000000
// HALF-NEXT: graph.reduce max
// THIRD: graph.einsum "bshgd,bchd->bshgc" {{.*}} -> tensor<2x1x4x2x171xf32,
// CONTEXT-NOT: dist.{{all|reduce|coll|contribute}}
// CONTEXT: dist.all_reduce %{{.*}} axes = {"cp"} {{.*}} : tensor<2x1x4x2{{(x1)?}}xf32, {{.*}} partial=max{"cp"}
// CONTEXT-NOT: {{mask_padding.*0xFFF0|dist.(all|reduce|coll|contribute)}}
// CONTEXT: dist.all_reduce %{{.*}} axes = {"cp"} {{.*}} : tensor<2x1x4x2x9xf32, #dist.sharding<@mesh, [{}, {}, {}, {}, {}], partial=sum{"cp"}
// CONTEXT-NOT: dist.{{all|reduce|coll}}
// CONTEXT: return

// BOTH-LABEL: func.func @decode
// BOTH-NOT: dist.{{all|reduce|coll}}
// BOTH: dist.all_reduce %{{.*}} axes = {"cp"} {{.*}} : tensor<2x1x2x2{{(x1)?}}xf32, {{.*}} partial=max{"cp"}
// BOTH-NOT: dist.{{all|reduce|coll}}
// BOTH: dist.all_reduce %{{.*}} axes = {"cp"} {{.*}} : tensor<2x1x2x2x9xf32, {{.*}} partial=sum{"cp"}
// BOTH-NOT: dist.{{all|reduce|coll}}
// BOTH: dist.all_reduce %{{.*}} axes = {"tp"} {why = "linear reduces over kv_heads
// BOTH-NOT: dist.{{all|reduce|coll}}
// BOTH: dist.all_reduce %{{.*}} axes = {"tp"} {why = "linear reduces over ffn
// BOTH-NOT: dist.{{all|reduce|coll}}
// BOTH: return
func.func @decode(%x: tensor<2x1x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<2x1xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
    %wq: tensor<4x2x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
    %wk: tensor<4x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wv: tensor<4x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v", graph.dims = ["kv_heads", "head_dim", "hidden"]},
    %wo: tensor<64x4x2x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "kv_heads", "group", "head_dim"]},
    %w1: tensor<256x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["ffn", "hidden"]},
    %w2: tensor<64x256xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["hidden", "ffn"]},
    %kc: tensor<1x2x513x4x8xf32> {graph.kind = #graph.kind<state>, graph.name = "k_cache", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]},
    %vc: tensor<1x2x513x4x8xf32> {graph.kind = #graph.kind<state>, graph.name = "v_cache", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]})
    -> (tensor<2x1x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<1x2x513x4x8xf32> {graph.kind = #graph.kind<state>, graph.name = "k_cache", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]},
        tensor<1x2x513x4x8xf32> {graph.kind = #graph.kind<state>, graph.name = "v_cache", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]}) {
  %i = graph.constant dense<0> : tensor<i32> : tensor<i32>
  %q = graph.linear %x, %wq contract = 1 : (tensor<2x1x64xf32>, tensor<4x2x8x64xf32>) -> tensor<2x1x4x2x8xf32>
  %k = graph.linear %x, %wk contract = 1 : (tensor<2x1x64xf32>, tensor<4x8x64xf32>) -> tensor<2x1x4x8xf32>
  %v = graph.linear %x, %wv contract = 1 : (tensor<2x1x64xf32>, tensor<4x8x64xf32>) -> tensor<2x1x4x8xf32>
  %k1 = graph.cache_update %kc[%i], %k, %p : (tensor<1x2x513x4x8xf32>, tensor<2x1x4x8xf32>, tensor<i32>, tensor<2x1xi32>) -> tensor<1x2x513x4x8xf32>
  %v1 = graph.cache_update %vc[%i], %v, %p : (tensor<1x2x513x4x8xf32>, tensor<2x1x4x8xf32>, tensor<i32>, tensor<2x1xi32>) -> tensor<1x2x513x4x8xf32>
  %k2 = graph.layer_slice %k1[%i] : (tensor<1x2x513x4x8xf32>, tensor<i32>) -> tensor<2x513x4x8xf32>
  %v2 = graph.layer_slice %v1[%i] : (tensor<1x2x513x4x8xf32>, tensor<i32>) -> tensor<2x513x4x8xf32>
  %a = graph.attention %q, %k2, %v2, %p scale = 0.35 : (tensor<2x1x4x2x8xf32>, tensor<2x513x4x8xf32>, tensor<2x513x4x8xf32>, tensor<2x1xi32>) -> tensor<2x1x4x2x8xf32>
  %o = graph.linear %a, %wo contract = 3 : (tensor<2x1x4x2x8xf32>, tensor<64x4x2x8xf32>) -> tensor<2x1x64xf32>
  %r = graph.add %x, %o : (tensor<2x1x64xf32>, tensor<2x1x64xf32>) -> tensor<2x1x64xf32>
  %h = graph.linear %r, %w1 contract = 1 : (tensor<2x1x64xf32>, tensor<256x64xf32>) -> tensor<2x1x256xf32>
  %s = graph.silu %h : tensor<2x1x256xf32>
  %d = graph.linear %s, %w2 contract = 1 : (tensor<2x1x256xf32>, tensor<64x256xf32>) -> tensor<2x1x64xf32>
  %y = graph.add %r, %d : (tensor<2x1x64xf32>, tensor<2x1x64xf32>) -> tensor<2x1x64xf32>
  return %y, %k1, %v1 : tensor<2x1x64xf32>, tensor<1x2x513x4x8xf32>, tensor<1x2x513x4x8xf32>
}
