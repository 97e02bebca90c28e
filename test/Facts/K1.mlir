// K1: a sum that is sliced by the same axis is scattered, on dimension 1.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (K1): per rank 384 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @K1
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.reduce_scatter %{{.*}} dim = 1 axes = {"x"} {{.*}} -> tensor<8x4xf32, #dist.sharding<@mesh, [{}, {"x"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @K1(%a: tensor<8x32xf32> {graph.kind = #graph.kind<input>, graph.name = "K1_a", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<16x32xf32> {graph.kind = #graph.kind<input>, graph.name = "K1_b", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<8x16xf32> {graph.kind = #graph.kind<output>, graph.name = "K1_out0", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  %c = graph.linear %a, %b contract = 1 : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  return %c : tensor<8x16xf32>
}
