// T3: attention by heads: the packed weight is a dimension of three, not glued to the heads, so that scores and softmax are local; one
// all_reduce after the output projection.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s
// RUN: llm-opt %s --tessera-explain="mesh=dp=2,tp=4" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=3}"

// BYTES: step (T3): per rank 12288 collective bytes in 1 collectives,

// CHECK-LABEL: func.func @T3
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {{.*}} -> tensor<2x16x64xf32, #dist.sharding<@mesh, [{"dp"}, {}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}

func.func @T3(%x: tensor<4x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %wqkv: tensor<3x8x8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "qkv", graph.dims = ["three", "kv_heads", "head_dim", "hidden"]},
    %wo: tensor<64x8x1x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "kv_heads", "group", "head_dim"]})
    -> (tensor<4x16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %qkv = graph.linear %x, %wqkv contract = 1 : (tensor<4x16x64xf32>, tensor<3x8x8x64xf32>) -> tensor<4x16x3x8x8xf32>
  %q0 = graph.slice %qkv at [0, 0, 0, 0, 0] : (tensor<4x16x3x8x8xf32>) -> tensor<4x16x1x8x8xf32>
  %k0 = graph.slice %qkv at [0, 0, 1, 0, 0] : (tensor<4x16x3x8x8xf32>) -> tensor<4x16x1x8x8xf32>
  %v0 = graph.slice %qkv at [0, 0, 2, 0, 0] : (tensor<4x16x3x8x8xf32>) -> tensor<4x16x1x8x8xf32>
  %q = graph.reshape %q0 : (tensor<4x16x1x8x8xf32>) -> tensor<4x16x8x1x8xf32>
  %k = graph.reshape %k0 : (tensor<4x16x1x8x8xf32>) -> tensor<4x16x8x8xf32>
  %v = graph.reshape %v0 : (tensor<4x16x1x8x8xf32>) -> tensor<4x16x8x8xf32>
  %a = graph.attention %q, %k, %v, %p scale = 0.35 : (tensor<4x16x8x1x8xf32>, tensor<4x16x8x8xf32>, tensor<4x16x8x8xf32>, tensor<4x16xi32>) -> tensor<4x16x8x1x8xf32>
  %o = graph.linear %a, %wo contract = 3 : (tensor<4x16x8x1x8xf32>, tensor<64x8x1x8xf32>) -> tensor<4x16x64xf32>
  %y = graph.name %o "out" ["batch", "seq", "hidden"] : tensor<4x16x64xf32>
  return %y : tensor<4x16x64xf32>
}
