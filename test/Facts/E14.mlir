// E14: a reshape that merges: [x,y] is what it gives, no bytes; for [y,x] the result's digits are exchanged.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --entry=E14 --pipeline="tessera-shard{machine=%S/bytes.json}"
// RUN: llm-judge %s --entry=E14_swapped --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (E14): per rank 0 collective bytes in 0 collectives,
// BYTES: step (E14_swapped): per rank 16 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @E14
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E14(%a: tensor<4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "E14_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<32xf32> {graph.kind = #graph.kind<output>, graph.name = "E14_out0", dist.sharding = #dist.sharding<@mesh, [{"x", "y"}]>}) {
  %c = graph.reshape %a : (tensor<4x8xf32>) -> tensor<32xf32>
  return %c : tensor<32xf32>
}

// CHECK-LABEL: func.func @E14_swapped
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.collective_permute %{{.*}} {{.*}} -> tensor<4xf32, #dist.sharding<@mesh, [{"y", "x"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E14_swapped(%a: tensor<4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "E14_swapped_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<32xf32> {graph.kind = #graph.kind<output>, graph.name = "E14_swapped_out0", dist.sharding = #dist.sharding<@mesh, [{"y", "x"}]>}) {
  %c = graph.reshape %a : (tensor<4x8xf32>) -> tensor<32xf32>
  return %c : tensor<32xf32>
}
