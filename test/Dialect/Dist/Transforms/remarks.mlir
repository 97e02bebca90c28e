// Every decision is a remark; what is gathered is one with its bytes.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4,ep=2" --remarks-filter="dist" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

// CHECK-DAG: annotate{{.*}}x [batch, vocab] is seeded with [dp/tp]
// CHECK-DAG: Missed{{.*}}axis ep of size 2 shards no argument: ranks along it do the same work
// CHECK-DAG: propagate{{.*}}result of exp lies [dp/tp], through exp
// CHECK-DAG: Missed{{.*}}gather{{.*}}[dp/tp] -> [dp/-], 384 bytes received per rank: softmax needs vocab whole, not over {tp}
// CHECK-DAG: collective{{.*}}AG to [dp/-], 384 bytes received per rank: softmax needs vocab whole, not over {tp}
func.func @f(%x: tensor<4x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "vocab"]}) -> tensor<4x64xf32> {
  %0 = graph.exp %x : tensor<4x64xf32>
  %1 = graph.softmax %0 : tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}
