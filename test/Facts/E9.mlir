// E9: halves of x on rows and, later, on columns: the right operand is sliced by the half that is free (no bytes), the product summed over y, and
// only the rows gathered.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (E9): per rank 256 collective bytes in 2 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @E9
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_slice %{{.*}} dim = 0 axes = {"x":(2)2} {{.*}} -> tensor<8x16xf32, #dist.sharding<@mesh, [{"x":(2)2}, {"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"y"} {{.*}} -> tensor<4x8xf32, #dist.sharding<@mesh, [{"x":(1)2}, {"x":(2)2}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"x":(1)2} {{.*}} -> tensor<8x8xf32, #dist.sharding<@mesh, [{}, {"x":(2)2}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E9(%a: tensor<8x32xf32> {graph.kind = #graph.kind<input>, graph.name = "E9_a", dist.sharding = #dist.sharding<@mesh, [{"x":(1)2}, {"y"}]>},
    %b: tensor<16x32xf32> {graph.kind = #graph.kind<input>, graph.name = "E9_b", dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8x16xf32> {graph.kind = #graph.kind<output>, graph.name = "E9_out0", dist.sharding = #dist.sharding<@mesh, [{}, {"x":(2)2}]>}) {
  %c = graph.linear %a, %b contract = 1 : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  return %c : tensor<8x16xf32>
}
