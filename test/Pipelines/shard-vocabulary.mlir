// T6, T19, T20: a vocabulary over tp, one table for lookup and head. Rows are looked up where they are and summed; the largest logit is
// found where it is, one number per row travels, never the logits; where the vocabulary does not divide, its padding never wins.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s --check-prefixes=CHECK,EVEN
// RUN: llm-opt %s --tessera-shard="mesh=tp=3" | FileCheck %s --check-prefixes=CHECK,ODD

// CHECK-LABEL: func.func @tied
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: graph.embedding %arg1, %arg0 : {{.*}}partial=sum{"tp"}
// CHECK-NEXT: dist.all_reduce %{{.*}} axes = {"tp"} {why = "embedding reduces over vocab, sharded over {tp}; silu needs the sum"}
// CHECK: %[[L:.*]] = graph.linear %{{.*}}, %arg1
// EVEN-NOT: mask_padding
// ODD: %[[M:.*]] = graph.mask_padding %[[L]] dims = [2] value = 0xFFF0000000000000
// ODD: graph.arg_max_key %[[M]]
// EVEN: graph.arg_max_key %[[L]]
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {why = "arg_max_key reduces over vocab, sharded over {tp}; arg_max_index needs the maximum"} : tensor<{{[24]}}x1xi64
// CHECK-NOT: dist.{{all|reduce|coll}}
// EVEN: return %{{.*}} : tensor<2x1x8192xf32, #dist.sharding<@mesh, [{"dp"}, {}, {"tp"}], global=[4, 1, 32768]>>
// ODD: return %{{.*}} : tensor<4x1x10923xf32, #dist.sharding<@mesh, [{}, {}, {"tp"}], global=[4, 1, 32768]>>
func.func @tied(%ids: tensor<4x1xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
    %table: tensor<32768x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "embedding", graph.dims = ["vocab", "hidden"]})
    -> (tensor<4x1x32768xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}, tensor<4x1xi32> {graph.kind = #graph.kind<output>, graph.name = "next"}) {
  %e = graph.embedding %table, %ids : (tensor<32768x64xf32>, tensor<4x1xi32>) -> tensor<4x1x64xf32>
  %h = graph.silu %e : tensor<4x1x64xf32>
  %l = graph.linear %h, %table contract = 1 : (tensor<4x1x64xf32>, tensor<32768x64xf32>) -> tensor<4x1x32768xf32>
  %k = graph.arg_max_key %l : (tensor<4x1x32768xf32>) -> tensor<4x1xi64>
  %n = graph.arg_max_index %k : (tensor<4x1xi64>) -> tensor<4x1xi32>
  return %l, %n : tensor<4x1x32768xf32>, tensor<4x1xi32>
}
