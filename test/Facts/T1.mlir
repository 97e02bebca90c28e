// T1: an MLP over dp2 tp4: one all_reduce of the result, nothing between its linears. With B·S = 8F tokens both weights are less than the result:
// they are gathered, each rank takes a part of the tokens, and the result is gathered.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s
// RUN: llm-opt %s --tessera-explain="mesh=dp=2,tp=4" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --entry=T1 --pipeline="tessera-shard{mesh=dp=2,tp=4}"
// RUN: llm-judge %s --entry=T1 --pipeline="tessera-shard{mesh=dp=2,tp=3}"
// RUN: llm-judge %s --entry=T1_many_tokens --pipeline="tessera-shard{mesh=dp=2,tp=4}"
// RUN: llm-judge %s --entry=T1_many_tokens --pipeline="tessera-shard{mesh=dp=2,tp=3}"

// BYTES: step (T1): per rank 12288 collective bytes in 1 collectives,
// BYTES: step (T1_many_tokens): per rank 294912 collective bytes in 3 collectives,

// CHECK-LABEL: func.func @T1
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {why = "linear reduces over ffn, sharded over {tp}; out needs the sum"}{{.*}} -> tensor<2x16x64xf32, #dist.sharding<@mesh, [{"dp"}, {}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK-LABEL: func.func @T1_many_tokens
// CHECK: dist.all_slice %arg0 dim = 1 axes = {"tp"}
// CHECK: dist.all_gather %arg1 dim = 0 axes = {"tp"} {why = "linear needs ffn whole, not over {tp}"} {{.*}} -> tensor<256x64xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: graph.silu {{.*}} : tensor<8x32x256xf32, #dist.sharding<@mesh, [{"dp"}, {"tp"}, {}]
// CHECK: dist.all_gather %arg2 dim = 1 axes = {"tp"} {{.*}} -> tensor<64x256xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 1 axes = {"tp"} {{.*}} -> tensor<8x128x64xf32, #dist.sharding<@mesh, [{"dp"}, {}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}

func.func @T1(%x: tensor<4x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %w1: tensor<256x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["ffn", "hidden"]},
    %w2: tensor<64x256xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["hidden", "ffn"]})
    -> (tensor<4x16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %h = graph.linear %x, %w1 contract = 1 : (tensor<4x16x64xf32>, tensor<256x64xf32>) -> tensor<4x16x256xf32>
  %a = graph.silu %h : tensor<4x16x256xf32>
  %o = graph.linear %a, %w2 contract = 1 : (tensor<4x16x256xf32>, tensor<64x256xf32>) -> tensor<4x16x64xf32>
  %y = graph.name %o "out" ["batch", "seq", "hidden"] : tensor<4x16x64xf32>
  return %y : tensor<4x16x64xf32>
}

// B·S = 2,048 > 4F: tokens are split over tp too, both weights gathered, and the result's tokens.
func.func @T1_many_tokens(%x: tensor<16x128x64xf32> {graph.kind = #graph.kind<input>, graph.name = "many_x", graph.dims = ["batch", "seq", "hidden"]},
    %w1: tensor<256x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["ffn", "hidden"]},
    %w2: tensor<64x256xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["hidden", "ffn"]})
    -> (tensor<16x128x64xf32> {graph.kind = #graph.kind<output>, graph.name = "many_y"}) {
  %h = graph.linear %x, %w1 contract = 1 : (tensor<16x128x64xf32>, tensor<256x64xf32>) -> tensor<16x128x256xf32>
  %a = graph.silu %h : tensor<16x128x256xf32>
  %o = graph.linear %a, %w2 contract = 1 : (tensor<16x128x256xf32>, tensor<64x256xf32>) -> tensor<16x128x64xf32>
  %y = graph.name %o "out" ["batch", "seq", "hidden"] : tensor<16x128x64xf32>
  return %y : tensor<16x128x64xf32>
}
