// K5: two exchanges between different pairs of dimensions are one all_to_all, 3/4 of a shard instead of twice a half.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (K5): per rank 3072 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func.func @K5
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_to_all %{{.*}} from = 0 to = 2 axes = {"x"}, from = 1 to = 3 axes = {"y"} {{.*}} -> tensor<8x8x4x4xf32, #dist.sharding<@mesh, [{}, {}, {"x"}, {"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @K5(%a: tensor<8x8x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "K5_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}, {}]>})
    -> (tensor<8x8x8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "K5_out0", dist.sharding = #dist.sharding<@mesh, [{}, {}, {"x"}, {"y"}]>}) {
  return %a : tensor<8x8x8x8xf32>
}
