// T12: experts over ep, tokens split over it, too. Rows go to the experts that their tokens chose and come back, chosen ones alone, with the ids, which all have to know: 2 of 8. Where a token
// chooses most experts, 6 of 8, gathering tokens and scattering sums sends less. Nobody asks for either: placement prices both, at even routing.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,ep=4 shard=batch=dp+ep" | FileCheck %s
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,ep=2 shard=batch=dp+ep" | FileCheck %s
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,ep=4" | FileCheck %s --check-prefix=WHOLE
// RUN: llm-opt %s --tessera-explain="mesh=dp=2,ep=4 shard=batch=dp+ep" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES

// CHECK-LABEL: func.func @layer
// CHECK: %[[OWN:.*]], %[[IDS:.*]] = graph.top_k
// CHECK: %[[ROWS:.*]] = graph.dispatch
// CHECK: %[[ALL:.*]] = dist.all_gather %[[IDS]] dim = 0 axes = {"ep"}
// CHECK-NOT: dist.all_
// CHECK: dist.exchange_rows %[[ROWS]], %[[IDS]], %[[ALL]] dim = 0 axes = {"ep"} to_experts
// CHECK: graph.expert_linear {{.*}} -> tensor<{{.*}}x16x{{.*}}x96xf32, #dist.sharding<@mesh, [{"dp"}, {}, {"ep"}, {}]
// CHECK-NOT: dist.all_
// CHECK: dist.exchange_rows {{.*}}, %[[ALL]], %[[IDS]] dim = 0 axes = {"ep"} {
// CHECK-NEXT: graph.combine
// CHECK-LABEL: func.func @many
// CHECK-NOT: dist.exchange_rows
// CHECK: dist.reduce_scatter

// Where tokens lie whole over ep nothing is dispatched. Sums come back as parts of the tokens' rows, or as a partial sum.
// WHOLE-LABEL: func.func @layer
// WHOLE-NOT: to_experts
// WHOLE-LABEL: func.func @many
// WHOLE-NOT: dist.exchange_rows
// WHOLE: dist.all_reduce

// 32 tokens of a rank, 2 rows of 64 floats each, 3/4 of them for others; at most all of them. Back go as many, and at most those of all tokens but a rank's own.
// BYTES: exchange_rows over {ep}
// BYTES: costs: each rank sends 12288 bytes at even routing, and 16384 at most
// BYTES: exchange_rows over {ep}
// BYTES: costs: each rank sends 12288 bytes at even routing, and 49152 at most
func.func @layer(%x: tensor<16x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %router: tensor<8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "router", graph.dims = ["expert", "hidden"]},
    %up: tensor<8x96x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["expert", "ffn", "hidden"]},
    %down: tensor<8x64x96xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["expert", "hidden", "ffn"]})
    -> (tensor<16x16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y", graph.dims = ["batch", "seq", "hidden"]}) {
  %scores = graph.linear %x, %router contract = 1 : (tensor<16x16x64xf32>, tensor<8x64xf32>) -> tensor<16x16x8xf32>
  %p = graph.softmax %scores : tensor<16x16x8xf32>
  %shares, %ids = graph.top_k %p : (tensor<16x16x8xf32>) -> (tensor<16x16x2xf32>, tensor<16x16x2xi32>)
  %rows = graph.dispatch %x, %ids : (tensor<16x16x64xf32>, tensor<16x16x2xi32>) -> tensor<16x16x8x64xf32>
  %u = graph.expert_linear %rows, %up, %ids : (tensor<16x16x8x64xf32>, tensor<8x96x64xf32>, tensor<16x16x2xi32>) -> tensor<16x16x8x96xf32>
  %h = graph.silu %u : tensor<16x16x8x96xf32>
  %d = graph.expert_linear %h, %down, %ids : (tensor<16x16x8x96xf32>, tensor<8x64x96xf32>, tensor<16x16x2xi32>) -> tensor<16x16x8x64xf32>
  %y = graph.combine %d, %ids, %shares : (tensor<16x16x8x64xf32>, tensor<16x16x2xi32>, tensor<16x16x2xf32>) -> tensor<16x16x64xf32>
  return %y : tensor<16x16x64xf32>
}
func.func @many(%x: tensor<16x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %router: tensor<8x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "router", graph.dims = ["expert", "hidden"]},
    %up: tensor<8x96x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["expert", "ffn", "hidden"]},
    %down: tensor<8x64x96xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["expert", "hidden", "ffn"]})
    -> (tensor<16x16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y", graph.dims = ["batch", "seq", "hidden"]}) {
  %scores = graph.linear %x, %router contract = 1 : (tensor<16x16x64xf32>, tensor<8x64xf32>) -> tensor<16x16x8xf32>
  %p = graph.softmax %scores : tensor<16x16x8xf32>
  %shares, %ids = graph.top_k %p : (tensor<16x16x8xf32>) -> (tensor<16x16x6xf32>, tensor<16x16x6xi32>)
  %rows = graph.dispatch %x, %ids : (tensor<16x16x64xf32>, tensor<16x16x6xi32>) -> tensor<16x16x8x64xf32>
  %u = graph.expert_linear %rows, %up, %ids : (tensor<16x16x8x64xf32>, tensor<8x96x64xf32>, tensor<16x16x6xi32>) -> tensor<16x16x8x96xf32>
  %h = graph.silu %u : tensor<16x16x8x96xf32>
  %d = graph.expert_linear %h, %down, %ids : (tensor<16x16x8x96xf32>, tensor<8x64x96xf32>, tensor<16x16x6xi32>) -> tensor<16x16x8x64xf32>
  %y = graph.combine %d, %ids, %shares : (tensor<16x16x8x64xf32>, tensor<16x16x6xi32>, tensor<16x16x6xf32>) -> tensor<16x16x64xf32>
  return %y : tensor<16x16x64xf32>
}
