// R2: two dimensions exchange with a third in one all_to_all (K5 and the planner join them where they can).
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (R2): per rank 256 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func.func @R2
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_to_all %{{.*}} from = 0 to = 2 axes = {"x"} {{.*}} -> tensor<8x4x4xf32, #dist.sharding<@mesh, [{}, {"y"}, {"x"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @R2(%a: tensor<8x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "R2_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>})
    -> (tensor<8x8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "R2_out0", dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {"x"}]>}) {
  return %a : tensor<8x8x8xf32>
}
