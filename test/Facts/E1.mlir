// E1: both operands shard the contraction over y: a local product, one all_reduce of the result over y.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (E1): per rank 128 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @E1
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"y"} {{.*}} -> tensor<2x16xf32, #dist.sharding<@mesh, [{"x"}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E1(%a: tensor<8x32xf32> {graph.kind = #graph.kind<input>, graph.name = "E1_a", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %b: tensor<16x32xf32> {graph.kind = #graph.kind<input>, graph.name = "E1_b", dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8x16xf32> {graph.kind = #graph.kind<output>, graph.name = "E1_out0", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %c = graph.linear %a, %b contract = 1 : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  return %c : tensor<8x16xf32>
}
