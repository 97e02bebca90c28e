// E12: both operands are sliced by y (no bytes), added, and the sum is gathered over x: half of what gathering first would move.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (E12): per rank 96 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @E12
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_slice %{{.*}} dim = 1 axes = {"y"} {{.*}} -> tensor<2x4xf32, #dist.sharding<@mesh, [{"x"}, {"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_slice %{{.*}} dim = 1 axes = {"y"} {{.*}} -> tensor<2x4xf32, #dist.sharding<@mesh, [{"x"}, {"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"x"} {{.*}} -> tensor<8x4xf32, #dist.sharding<@mesh, [{}, {"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E12(%a: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "E12_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "E12_b", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "E12_out0", dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}) {
  %c = graph.add %a, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}
