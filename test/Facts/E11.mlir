// E11: an elementwise op runs where its value is sharded most, so that the smaller shard travels: before the exchange or after it.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --entry=E11 --pipeline="tessera-shard{machine=%S/bytes.json}"
// RUN: llm-judge %s --entry=E11_reversed --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (E11): per rank 128 collective bytes in 2 collectives,
// BYTES: step (E11_reversed): per rank 64 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @E11
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_slice %{{.*}} dim = 0 axes = {"y"} {{.*}} -> tensor<1x8xf32, #dist.sharding<@mesh, [{"x", "y"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.collective_permute %{{.*}} {{.*}} -> tensor<1x8xf32, #dist.sharding<@mesh, [{"y", "x"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"x"} {{.*}} -> tensor<4x8xf32, #dist.sharding<@mesh, [{"y"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E11(%a: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "E11_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "E11_out0", dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %c = graph.neg %a : tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @E11_reversed
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_slice %{{.*}} dim = 0 axes = {"x":(1)2} {{.*}} -> tensor<2x8xf32, #dist.sharding<@mesh, [{"y", "x":(1)2}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.collective_permute %{{.*}} {{.*}} -> tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E11_reversed(%a: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "E11_reversed_a", dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "E11_reversed_out0", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %c = graph.neg %a : tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}
