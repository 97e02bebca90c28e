// E17: a reshape between views that are strided on both sides.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (E17): per rank 32 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @E17
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 1 axes = {"y"} {{.*}} -> tensor<2x2x4xf32, #dist.sharding<@mesh, [{}, {}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_slice %{{.*}} dim = 2 axes = {"y"} {{.*}} -> tensor<4x2x1xf32, #dist.sharding<@mesh, [{}, {}, {"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E17(%a: tensor<2x2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "E17_a", dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}]>})
    -> (tensor<4x2x2xf32> {graph.kind = #graph.kind<output>, graph.name = "E17_out0", dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}]>}) {
  %c = graph.reshape %a : (tensor<2x2x4xf32>) -> tensor<4x2x2xf32>
  return %c : tensor<4x2x2xf32>
}
