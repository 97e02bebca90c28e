// K6: a reduction over x into [x/y]: y slices before (no bytes), x scatters after; nothing is reduced whole.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (K6): per rank 192 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @K6
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_slice %{{.*}} dim = 2 axes = {"y"} {{.*}} -> tensor<16x2x4xf32, #dist.sharding<@mesh, [{}, {"x"}, {"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.reduce_scatter %{{.*}} dim = 0 axes = {"x"} {{.*}} -> tensor<4x4xf32, #dist.sharding<@mesh, [{"x"}, {"y"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @K6(%a: tensor<16x8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "K6_a", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}]>})
    -> (tensor<16x8xf32> {graph.kind = #graph.kind<output>, graph.name = "K6_out0", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %c = graph.reduce sum %a dims = [1] : (tensor<16x8x8xf32>) -> tensor<16x8xf32>
  return %c : tensor<16x8xf32>
}
