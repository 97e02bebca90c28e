// R4: two axes of one size change places in one collective_permute.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (R4): per rank 64 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=4, "y"=4]>

// CHECK-LABEL: func.func @R4
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.collective_permute %{{.*}} {{.*}} -> tensor<4x4xf32, #dist.sharding<@mesh, [{"y"}, {"x"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @R4(%a: tensor<16x16xf32> {graph.kind = #graph.kind<input>, graph.name = "R4_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<16x16xf32> {graph.kind = #graph.kind<output>, graph.name = "R4_out0", dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  return %a : tensor<16x16xf32>
}
