// Where few assignments are all searched, one that sends a little less is taken if it takes no more messages.
// RUN: echo '{"flops": 2e10}' > %t.json
// RUN: llm-opt %s --tessera-shard=machine=%t.json --remarks-filter=dist --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s

// CHECK: block of func.func (1 ops): time 4.443 us{{.*}} gap 0.00 % to all assignments of axes that something lies over
dist.mesh @mesh = <["x"=2, "y"=2, "z"=2, "w"=2]>
func.func @softmax(%a: tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"z"}, {"w"}]>, graph.kind = #graph.kind<input>, graph.name = "a"})
    -> (tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y", "x"}]>, graph.kind = #graph.kind<output>, graph.name = "r"}) {
  %c = graph.softmax %a : tensor<64x64xf32>
  return %c : tensor<64x64xf32>
}
