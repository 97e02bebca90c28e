// E18: a reshape of 8x8 to 4x16 runs as [x/y]; the result is exchanged, never gathered.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (E18): per rank 40 collective bytes in 2 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @E18
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_to_all %{{.*}} from = 1 to = 3 axes = {"y"} {{.*}} -> tensor<1x2x2x1x2xf32, #dist.sharding<@mesh, [{"x"}, {}, {}, {"y"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_to_all %{{.*}} from = 0 to = 1 axes = {"x"} {{.*}} -> tensor<4x1x1x2xf32, #dist.sharding<@mesh, [{}, {"x"}, {"y"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E18(%a: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "E18_a", dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<4x16xf32> {graph.kind = #graph.kind<output>, graph.name = "E18_out0", dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>}) {
  %c = graph.reshape %a : (tensor<8x8xf32>) -> tensor<4x16xf32>
  return %c : tensor<4x16xf32>
}
