// R6: the same axes in another device order: one collective_permute. Another mesh is an error (test/Dialect/Dist/attrs-invalid.mlir).
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (R6): per rank 128 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func.func @R6
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.collective_permute %{{.*}} {{.*}} -> tensor<4x8xf32, #dist.sharding<@mesh, [{"y", "x"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @R6(%a: tensor<16x8xf32> {graph.kind = #graph.kind<input>, graph.name = "R6_a", dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<16x8xf32> {graph.kind = #graph.kind<output>, graph.name = "R6_out0", dist.sharding = #dist.sharding<@mesh, [{"y", "x"}, {}]>}) {
  return %a : tensor<16x8xf32>
}
