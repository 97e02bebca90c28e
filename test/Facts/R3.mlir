// R3: the slice comes before the gather.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (R3): per rank 128 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func.func @R3
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_slice %{{.*}} dim = 1 axes = {"y"} {{.*}} -> tensor<8x4xf32, #dist.sharding<@mesh, [{"x"}, {"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"x"} {{.*}} -> tensor<16x4xf32, #dist.sharding<@mesh, [{}, {"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @R3(%a: tensor<16x8xf32> {graph.kind = #graph.kind<input>, graph.name = "R3_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x8xf32> {graph.kind = #graph.kind<output>, graph.name = "R3_out0", dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}) {
  return %a : tensor<16x8xf32>
}
