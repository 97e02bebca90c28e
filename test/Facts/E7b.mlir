// E7b: with a small contraction operands travel: gathered whole 36 elements, at twice the work; on the machine of the table that pays, on
// the default one 44 elements and half of the work do. With K=32 the result travels; the row's all_reduce and exchange (56 elements) are beaten with 44:
// the sum is scattered over y before it is exchanged, and gathered after.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --entry=E7b --pipeline="tessera-shard{machine=%S/bytes.json}"
// RUN: llm-judge %s --entry=E7b_K32 --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (E7b): per rank 144 collective bytes in 3 collectives,
// BYTES: step (E7b_K32): per rank 176 collective bytes in 3 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @E7b
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"x"} {{.*}} -> tensor<8x2xf32, #dist.sharding<@mesh, [{}, {"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 1 axes = {"y"} {{.*}} -> tensor<8x4xf32, #dist.sharding<@mesh, [{}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_slice %{{.*}} dim = 0 axes = {"x"} {{.*}} -> tensor<4x2xf32, #dist.sharding<@mesh, [{"x"}, {"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 1 axes = {"y"} {{.*}} -> tensor<4x4xf32, #dist.sharding<@mesh, [{"x"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E7b(%a: tensor<8x4xf32> {graph.kind = #graph.kind<input>, graph.name = "E7b_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %b: tensor<16x4xf32> {graph.kind = #graph.kind<input>, graph.name = "E7b_b", dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8x16xf32> {graph.kind = #graph.kind<output>, graph.name = "E7b_out0", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  %c = graph.linear %a, %b contract = 1 : (tensor<8x4xf32>, tensor<16x4xf32>) -> tensor<8x16xf32>
  return %c : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @E7b_K32
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.reduce_scatter %{{.*}} dim = 0 axes = {"y"} {{.*}} -> tensor<1x16xf32, #dist.sharding<@mesh, [{"x", "y"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_to_all %{{.*}} from = 0 to = 2 axes = {"x"} {{.*}} -> tensor<4x1x4xf32, #dist.sharding<@mesh, [{}, {"y"}, {"x"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 1 axes = {"y"} {{.*}} -> tensor<4x2x4xf32, #dist.sharding<@mesh, [{}, {}, {"x"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E7b_K32(%a: tensor<8x32xf32> {graph.kind = #graph.kind<input>, graph.name = "E7b_K32_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %b: tensor<16x32xf32> {graph.kind = #graph.kind<input>, graph.name = "E7b_K32_b", dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8x16xf32> {graph.kind = #graph.kind<output>, graph.name = "E7b_K32_out0", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  %c = graph.linear %a, %b contract = 1 : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  return %c : tensor<8x16xf32>
}
