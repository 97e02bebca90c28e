// K7: sliced by x first, then gathered over y: a quarter of the bytes of the other order.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (K7): per rank 64 collective bytes in 1 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @K7
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_slice %{{.*}} dim = 1 axes = {"x"} {{.*}} -> tensor<8x2xf32, #dist.sharding<@mesh, [{"y"}, {"x"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"y"} {{.*}} -> tensor<16x2xf32, #dist.sharding<@mesh, [{}, {"x"}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @K7(%a: tensor<16x8xf32> {graph.kind = #graph.kind<input>, graph.name = "K7_a", dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<16x8xf32> {graph.kind = #graph.kind<output>, graph.name = "K7_out0", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  return %a : tensor<16x8xf32>
}
