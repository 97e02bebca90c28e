// E19: a lookup whose rows are sharded is local, its result summed over the axes of the rows alone, sub-axes too; rows asked for keep their axis.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --entry=E19 --pipeline="tessera-shard{machine=%S/bytes.json}"
// RUN: llm-judge %s --entry=E19_sub_axis --pipeline="tessera-shard{machine=%S/bytes.json}"
// RUN: llm-judge %s --entry=E19_columns --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (E19): per rank 1536 collective bytes in 1 collectives,
// BYTES: step (E19_sub_axis): per rank 1024 collective bytes in 1 collectives,
// BYTES: step (E19_columns): per rank 0 collective bytes in 0 collectives,

dist.mesh @mesh = <["x"=4, "y"=4]>

// CHECK-LABEL: func.func @E19
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"y"} {{.*}} -> tensor<4x64xf32, #dist.sharding<@mesh, [{"x"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E19(%t: tensor<1024x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "E19_t", dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %i: tensor<16xi32> {graph.kind = #graph.kind<input>, graph.name = "E19_i", dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "E19_out0", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %c = graph.embedding %t, %i : (tensor<1024x64xf32>, tensor<16xi32>) -> tensor<16x64xf32>
  return %c : tensor<16x64xf32>
}

// CHECK-LABEL: func.func @E19_sub_axis
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"y":(1)2} {{.*}} -> tensor<4x64xf32, #dist.sharding<@mesh, [{"x"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E19_sub_axis(%t: tensor<1024x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "E19_sub_axis_t", dist.sharding = #dist.sharding<@mesh, [{"y":(1)2}, {}]>},
    %i: tensor<16xi32> {graph.kind = #graph.kind<input>, graph.name = "E19_sub_axis_i", dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "E19_sub_axis_out0", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %c = graph.embedding %t, %i : (tensor<1024x64xf32>, tensor<16xi32>) -> tensor<16x64xf32>
  return %c : tensor<16x64xf32>
}

// CHECK-LABEL: func.func @E19_columns
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E19_columns(%t: tensor<1024x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "E19_columns_t", dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
    %i: tensor<16xi32> {graph.kind = #graph.kind<input>, graph.name = "E19_columns_i", dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "E19_columns_out0", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %c = graph.embedding %t, %i : (tensor<1024x64xf32>, tensor<16xi32>) -> tensor<16x64xf32>
  return %c : tensor<16x64xf32>
}
