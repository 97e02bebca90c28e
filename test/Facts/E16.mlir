// E16: a reshape that splits: it runs as [y,x:(1)2/x:(2)2], which is then exchanged; nothing is gathered.
// RUN: llm-opt %s --tessera-shard=machine=%S/bytes.json | FileCheck %s
// RUN: llm-opt %s --tessera-explain=machine=%S/bytes.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: llm-judge %s --pipeline="tessera-shard{machine=%S/bytes.json}"

// BYTES: step (E16): per rank 16 collective bytes in 2 collectives,

dist.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @E16
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_to_all %{{.*}} from = 1 to = 2 axes = {"x":(2)2} {{.*}} -> tensor<1x2x1x2xf32, #dist.sharding<@mesh, [{"y", "x":(1)2}, {}, {"x":(2)2}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_to_all %{{.*}} from = 0 to = 1 axes = {"x":(1)2} {{.*}} -> tensor<2x1x1x2xf32, #dist.sharding<@mesh, [{"y"}, {"x":(1)2}, {"x":(2)2}, {}]
// CHECK-NOT: dist.{{all|reduce|coll}}
func.func @E16(%a: tensor<32xf32> {graph.kind = #graph.kind<input>, graph.name = "E16_a", dist.sharding = #dist.sharding<@mesh, [{"y", "x"}]>})
    -> (tensor<4x8xf32> {graph.kind = #graph.kind<output>, graph.name = "E16_out0", dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %c = graph.reshape %a : (tensor<32xf32>) -> tensor<4x8xf32>
  return %c : tensor<4x8xf32>
}
