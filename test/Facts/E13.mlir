// E13: shardy reduces both inputs over x and sums twice (18 elements), because they stand in one op; here each reduction is an op, the input that
// lies whole is reduced where it is, and one sum of 6 remains. The op with two inputs is E13 in placement.facts.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (E13): per rank 30 collective bytes in 2 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @E13
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_slice %{{.*}} dim = 0 axes = {"y"} {{.*}} -> tensor<3xf32, #dist.sharding<@mesh, [{"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"x"} {{.*}} -> tensor<3xf32, #dist.sharding<@mesh, [{"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"y"} {{.*}} -> tensor<6xf32, #dist.sharding<@mesh, [{}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E13(%a: tensor<8x6x8xf32> {graph.kind = #graph.kind<input>, graph.name = "E13_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}]>},
    %b: tensor<8x6x8xf32> {graph.kind = #graph.kind<input>, graph.name = "E13_b", dist.sharding = #dist.sharding<@mesh, [{}, {}, {}]>})
    -> (tensor<6xf32> {graph.kind = #graph.kind<output>, graph.name = "E13_out0", dist.sharding = #dist.sharding<@mesh, [{}]>}, tensor<6xf32> {graph.kind = #graph.kind<output>, graph.name = "E13_out1", dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %c = graph.reduce sum %a dims = [0, 2] : (tensor<8x6x8xf32>) -> tensor<6xf32>
  %d = graph.reduce sum %b dims = [0, 2] : (tensor<8x6x8xf32>) -> tensor<6xf32>
  return %c, %d : tensor<6xf32>, tensor<6xf32>
}
