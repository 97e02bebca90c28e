// T13: attention over a sharded sequence. Where heads are many, sequence is exchanged for heads (Ulysses): one exchange each of q, k, v, and one
// back, 3/32 of a tensor each; positions come whole. Where keys and values have fewer heads gathering them costs less, as it does where
// tensors are small and each message is slow. Nobody asks for either: placement prices both.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,sp=4" | FileCheck %s
// RUN: echo '{"memory_bandwidth": 1e10, "link": {"latency": 1e-5}}' > %t.json
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,sp=4 machine=%t.json" | FileCheck %s --check-prefix=SLOW
// RUN: llm-opt %s --tessera-shard="mesh=sp=5" | FileCheck %s --check-prefix=ODD

// RUN: llm-opt %s --tessera-shard="mesh=sp=8" | FileCheck %s --check-prefix=COPIES
// RUN: llm-opt %s --tessera-shard="mesh=sp=2" | FileCheck %s --check-prefix=NINE
// RUN: llm-opt %s --tessera-explain="mesh=dp=2,sp=4" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES

// B4 S16 H8 Dh8: 3/32 of 16384 bytes four times.
// RUN: llm-opt %s --tessera-explain="mesh=sp=8" -o /dev/null 2>&1 | FileCheck %s --check-prefix=EIGHT
// A head each with its keys and values copied for two groups would send 57344, gathering keys and values 114688.
// EIGHT: step (copies): per rank 53248 collective bytes

// BYTES: step (short): per rank 6144 collective bytes in 4 collectives

// 4 KV heads over 8 ranks: a quarter of the sequence is exchanged for heads, halves of it stay where they are and keys and values are copied to both.
// COPIES-LABEL: func.func @copies
// COPIES: graph.attention {{.*}} -> tensor<1x256x1x2x8xf32, #dist.sharding<@mesh, [{}, {"sp":(1)2}, {"sp":(2)4}, {}, {}]
// COPIES-LABEL: func.func @nine

// 9 query heads on 3 KV heads: gathering keys and values costs less than exchanging 12 query heads.
// NINE-LABEL: func.func @nine
// NINE-NOT: dist.{{all|reduce|coll}}
// NINE: dist.all_gather %arg1 dim = 1 axes = {"sp"}
// NINE-NEXT: dist.all_gather %arg2 dim = 1 axes = {"sp"}
// NINE-NEXT: graph.attention {{.*}} -> tensor<4x256x3x3x8xf32,
// NINE-NOT: dist.{{all|reduce|coll}}

// CHECK-LABEL: func.func @long
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK-COUNT-3: dist.all_to_all %arg{{[0-2]}} from = 1 to = 2 axes = {"sp"}
// CHECK-NEXT: graph.attention {{.*}} -> tensor<2x512x2x1x8xf32, #dist.sharding<@mesh, [{"dp"}, {}, {"sp"}, {}, {}], global=[4, 512, 8, 1, 8]>>
// CHECK-NEXT: dist.all_to_all %{{.*}} from = 2 to = 1 axes = {"sp"}
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK-LABEL: func.func @short
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK-COUNT-3: dist.all_to_all %arg{{[0-2]}} from = 1 to = 2 axes = {"sp"}
// CHECK-NEXT: graph.attention
// CHECK-NEXT: dist.all_to_all %{{.*}} from = 2 to = 1 axes = {"sp"}
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK-LABEL: func.func @few
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %arg1 dim = 1 axes = {"sp"}
// CHECK-NEXT: dist.all_gather %arg2 dim = 1 axes = {"sp"}
// CHECK-NEXT: graph.attention
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK-LABEL: func.func @uneven

// SLOW-LABEL: func.func @long
// SLOW-COUNT-4: dist.all_to_all
// SLOW-LABEL: func.func @short
// SLOW-NOT: all_to_all
// SLOW-LABEL: func.func @few

// 17 positions over 5 ranks, exchanged for 10 heads.
// ODD-LABEL: func.func @uneven
// ODD-COUNT-3: dist.all_to_all %arg{{[0-2]}} from = 1 to = 2 axes = {"sp"}
// ODD: graph.attention {{.*}} -> tensor<64x17x2x1x8xf32,
// ODD-NEXT: dist.all_to_all %{{.*}} from = 2 to = 1 axes = {"sp"} {{.*}} -> tensor<64x4x10x1x8xf32,
func.func @long(%q: tensor<4x512x8x1x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<4x512x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<4x512x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<4x512xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]})
    -> (tensor<4x512x8x1x8xf32> {graph.name = "a"}) {
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<4x512x8x1x8xf32>, tensor<4x512x8x8xf32>, tensor<4x512x8x8xf32>, tensor<4x512xi32>) -> tensor<4x512x8x1x8xf32>
  %o = graph.name %a "out" ["batch", "seq", "kv_heads", "group", "head_dim"] : tensor<4x512x8x1x8xf32>
  return %o : tensor<4x512x8x1x8xf32>
}
func.func @short(%q: tensor<4x16x8x1x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<4x16x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<4x16x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]})
    -> (tensor<4x16x8x1x8xf32> {graph.name = "a"}) {
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<4x16x8x1x8xf32>, tensor<4x16x8x8xf32>, tensor<4x16x8x8xf32>, tensor<4x16xi32>) -> tensor<4x16x8x1x8xf32>
  %o = graph.name %a "out" ["batch", "seq", "kv_heads", "group", "head_dim"] : tensor<4x16x8x1x8xf32>
  return %o : tensor<4x16x8x1x8xf32>
}
func.func @few(%q: tensor<4x512x2x4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<4x512x2x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<4x512x2x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<4x512xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]})
    -> (tensor<4x512x2x4x8xf32> {graph.name = "a"}) {
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<4x512x2x4x8xf32>, tensor<4x512x2x8xf32>, tensor<4x512x2x8xf32>, tensor<4x512xi32>) -> tensor<4x512x2x4x8xf32>
  %o = graph.name %a "out" ["batch", "seq", "kv_heads", "group", "head_dim"] : tensor<4x512x2x4x8xf32>
  return %o : tensor<4x512x2x4x8xf32>
}
func.func @uneven(%q: tensor<64x17x10x1x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<64x17x10x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<64x17x10x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<64x17xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]})
    -> (tensor<64x17x10x1x8xf32> {graph.name = "a"}) {
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<64x17x10x1x8xf32>, tensor<64x17x10x8xf32>, tensor<64x17x10x8xf32>, tensor<64x17xi32>) -> tensor<64x17x10x1x8xf32>
  %o = graph.name %a "out" ["batch", "seq", "kv_heads", "group", "head_dim"] : tensor<64x17x10x1x8xf32>
  return %o : tensor<64x17x10x1x8xf32>
}
func.func @copies(%q: tensor<1x512x4x2x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<1x512x4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<1x512x4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<1x512xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]})
    -> (tensor<1x512x4x2x8xf32> {graph.name = "a"}) {
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<1x512x4x2x8xf32>, tensor<1x512x4x8xf32>, tensor<1x512x4x8xf32>, tensor<1x512xi32>) -> tensor<1x512x4x2x8xf32>
  %o = graph.name %a "out" ["batch", "seq", "kv_heads", "group", "head_dim"] : tensor<1x512x4x2x8xf32>
  return %o : tensor<1x512x4x2x8xf32>
}
func.func @nine(%q: tensor<4x512x3x3x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<4x512x3x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<4x512x3x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<4x512xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]})
    -> (tensor<4x512x3x3x8xf32> {graph.name = "a"}) {
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<4x512x3x3x8xf32>, tensor<4x512x3x8xf32>, tensor<4x512x3x8xf32>, tensor<4x512xi32>) -> tensor<4x512x3x3x8xf32>
  %o = graph.name %a "out" ["batch", "seq", "kv_heads", "group", "head_dim"] : tensor<4x512x3x3x8xf32>
  return %o : tensor<4x512x3x3x8xf32>
}
