// R8: xla#15207: shardings that GSPMD cannot bring together without replicating; two all_to_alls over single axes move 0.156 of the tensor,
// one over all eight ranks 0.109.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (R8): per rank 448 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @R8
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_to_all %{{.*}} from = 2 to = 1 axes = {"x"}, from = 0 to = 1 axes = {"y"} {{.*}} -> tensor<16x1x8xf32, #dist.sharding<@mesh, [{}, {"x", "y"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @R8(%a: tensor<16x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "R8_a", dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {"x"}]>})
    -> (tensor<16x8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "R8_out0", dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}, {}]>}) {
  return %a : tensor<16x8x8xf32>
}
