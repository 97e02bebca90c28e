// E8: two contracting dimensions, sharded over y and over x, z: one all_reduce over all three.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (E8): per rank 992 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=4, "y"=2, "z"=4]>

// CHECK-LABEL: func.func @E8
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"x", "y", "z"} {{.*}} -> tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E8(%a: tensor<8x4x32xf32> {graph.kind = #graph.kind<input>, graph.name = "E8_a", dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {"x", "z"}]>},
    %b: tensor<16x4x32xf32> {graph.kind = #graph.kind<input>, graph.name = "E8_b", dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {"x", "z"}]>})
    -> (tensor<8x16xf32> {graph.kind = #graph.kind<output>, graph.name = "E8_out0", dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %c = graph.linear %a, %b contract = 2 : (tensor<8x4x32xf32>, tensor<16x4x32xf32>) -> tensor<8x16xf32>
  return %c : tensor<8x16xf32>
}
