// E6: a large right operand stays where it is. Shardy moves 27,648 elements, a reduce_scatter 15,360; a slice over the idle axis y before it and
// a gather after it leave 11,264.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (E6): per rank 45056 collective bytes in 3 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @E6
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_to_all %{{.*}} from = 0 to = 1 axes = {"x"} {{.*}} -> tensor<4x1024xf32, #dist.sharding<@mesh, [{}, {"x"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_slice %{{.*}} dim = 1 axes = {"y"} {{.*}} -> tensor<4x2048xf32, #dist.sharding<@mesh, [{}, {"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.reduce_scatter %{{.*}} dim = 0 axes = {"x"} {{.*}} -> tensor<1x2048xf32, #dist.sharding<@mesh, [{"x"}, {"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 1 axes = {"y"} {{.*}} -> tensor<1x4096xf32, #dist.sharding<@mesh, [{"x"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E6(%a: tensor<4x4096xf32> {graph.kind = #graph.kind<input>, graph.name = "E6_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<4096x4096xf32> {graph.kind = #graph.kind<input>, graph.name = "E6_b", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<4x4096xf32> {graph.kind = #graph.kind<output>, graph.name = "E6_out0", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %c = graph.linear %a, %b contract = 1 : (tensor<4x4096xf32>, tensor<4096x4096xf32>) -> tensor<4x4096xf32>
  return %c : tensor<4x4096xf32>
}
