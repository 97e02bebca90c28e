// E5: a square times itself: each of its two uses is gathered along the contraction only.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (E5): per rank 512 collective bytes in 2 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @E5
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 1 axes = {"y"} {{.*}} -> tensor<4x16xf32, #dist.sharding<@mesh, [{"x"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 1 axes = {"x"} {{.*}} -> tensor<8x16xf32, #dist.sharding<@mesh, [{"y"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E5(%a: tensor<16x16xf32> {graph.kind = #graph.kind<input>, graph.name = "E5_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<16x16xf32> {graph.kind = #graph.kind<output>, graph.name = "E5_out0", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %t = graph.transpose %a [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %c = graph.linear %a, %t contract = 1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %c : tensor<16x16xf32>
}
