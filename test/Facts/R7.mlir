// R7: whatever the axes of the mesh are called, a replicated target is one all_gather.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (R7): per rank 640 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=6]>

// CHECK-LABEL: func.func @R7
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"x"} {{.*}} -> tensor<24x8xf32, #dist.sharding<@mesh, [{}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @R7(%a: tensor<24x8xf32> {graph.kind = #graph.kind<input>, graph.name = "R7_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<24x8xf32> {graph.kind = #graph.kind<output>, graph.name = "R7_out0", dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  return %a : tensor<24x8xf32>
}
