// T8, T14: weights sharded over fsdp are gathered just before use, inside the loop over layers; the stack keeps its sharding.
// RUN: llm-opt %s --tessera-shard="mesh=fsdp=2,tp=2" | FileCheck %s

// CHECK: graph.repeat 4 {{.*}}stack(%arg1, %arg2 : tensor<4x128x32xf32, #dist.sharding<@mesh, [{}, {"tp"}, {"fsdp"}], global=[4, 256, 64]>>, tensor<4x32x128xf32, #dist.sharding<@mesh, [{}, {"fsdp"}, {"tp"}], global=[4, 64, 256]>>)
// CHECK: %[[U:.*]] = dist.all_gather %{{.*}} dim = 1 axes = {"fsdp"} {why = "linear needs hidden whole, not over {fsdp}"}
// CHECK-NEXT: graph.linear %{{.*}}, %[[U]]
// CHECK: %[[D:.*]] = dist.all_gather %{{.*}} dim = 0 axes = {"fsdp"}
// CHECK-NEXT: graph.linear %{{.*}}, %[[D]]
// CHECK-NEXT: dist.all_reduce %{{.*}} axes = {"tp"}
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @layers(%x: tensor<8x64x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %w1: tensor<4x256x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["layer", "ffn", "hidden"]},
    %w2: tensor<4x64x256xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["layer", "hidden", "ffn"]}) -> tensor<8x64x64xf32> {
  %r = graph.repeat 4 carry(%x : tensor<8x64x64xf32>) stack(%w1, %w2 : tensor<4x256x64xf32>, tensor<4x64x256xf32>) -> (tensor<8x64x64xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8x64x64xf32>, %up: tensor<256x64xf32>, %down: tensor<64x256xf32>):
    %0 = graph.linear %h, %up contract = 1 : (tensor<8x64x64xf32>, tensor<256x64xf32>) -> tensor<8x64x256xf32>
    %1 = graph.silu %0 : tensor<8x64x256xf32>
    %2 = graph.linear %1, %down contract = 1 : (tensor<8x64x256xf32>, tensor<64x256xf32>) -> tensor<8x64x64xf32>
    %3 = graph.add %h, %2 : (tensor<8x64x64xf32>, tensor<8x64x64xf32>) -> tensor<8x64x64xf32>
    graph.yield %3 : tensor<8x64x64xf32>
  }
  return %r : tensor<8x64x64xf32>
}
