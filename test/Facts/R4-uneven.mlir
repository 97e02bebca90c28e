// R4-uneven: two axes of different size change places: devices are permuted so that one half of x is left to exchange.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (R4_uneven): per rank 192 collective bytes in 2 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @R4_uneven
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_to_all %{{.*}} from = 0 to = 1 axes = {"x":(2)2} {{.*}} -> tensor<8x4xf32, #dist.sharding<@mesh, [{"x":(1)2}, {"y", "x":(2)2}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.collective_permute %{{.*}} {{.*}} -> tensor<8x4xf32, #dist.sharding<@mesh, [{"y"}, {"x"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @R4_uneven(%a: tensor<16x16xf32> {graph.kind = #graph.kind<input>, graph.name = "R4_uneven_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<16x16xf32> {graph.kind = #graph.kind<output>, graph.name = "R4_uneven_out0", dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  return %a : tensor<16x16xf32>
}
