// E2: as E1, but the caller wants y on dimension 1: the sum is scattered, half of the bytes of an all_reduce.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (E2): per rank 64 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @E2
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.reduce_scatter %{{.*}} dim = 1 axes = {"y"} {{.*}} -> tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E2(%a: tensor<8x32xf32> {graph.kind = #graph.kind<input>, graph.name = "E2_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %b: tensor<16x32xf32> {graph.kind = #graph.kind<input>, graph.name = "E2_b", dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8x16xf32> {graph.kind = #graph.kind<output>, graph.name = "E2_out0", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %c = graph.linear %a, %b contract = 1 : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  return %c : tensor<8x16xf32>
}
