// R1: axes that leave one dimension leave in one all_gather.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (R1): per rank 192 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=2, "y"=2, "z"=2]>

// CHECK-LABEL: func.func @R1
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"y", "z"} {{.*}} -> tensor<8x8xf32, #dist.sharding<@mesh, [{"x"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @R1(%a: tensor<16x8xf32> {graph.kind = #graph.kind<input>, graph.name = "R1_a", dist.sharding = #dist.sharding<@mesh, [{"x", "y", "z"}, {}]>})
    -> (tensor<16x8xf32> {graph.kind = #graph.kind<output>, graph.name = "R1_out0", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  return %a : tensor<16x8xf32>
}
