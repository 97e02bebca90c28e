// Same numbers where chosen rows go to their experts and come back: tokens split by rows, by positions or by both, five experts over four ranks, beside tp; counts that are zero, and all tokens
// of one expert.
// RUN: llm-opt %s --tessera-shard="mesh=ep=4 shard=batch=ep" | FileCheck %s
// RUN: llm-opt %s --tessera-shard="mesh=ep=4 shard=seq=ep" | FileCheck %s
// RUN: llm-opt %s --tessera-shard="mesh=ep=4,tp=2 shard=batch=ep" | FileCheck %s
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=ep=4 shard=batch=ep}"
// RUN: llm-judge %s --entry=all_to_one --pipeline="tessera-shard{mesh=ep=4 shard=batch=ep}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=ep=4 shard=seq=ep}"
// RUN: llm-judge %s --entry=all_to_one --pipeline="tessera-shard{mesh=ep=4 shard=seq=ep}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=2,b=2 shard=batch=a,seq=b,expert=a+b}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,ep=2,tp=2 shard=batch=dp+ep}"
// RUN: llm-judge %s --entry=all_to_one --pipeline="tessera-shard{mesh=dp=2,ep=2,tp=2 shard=batch=dp+ep}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=3,ep=4 shard=batch=dp+ep}"
// RUN: llm-judge %s --rung=binary --mesh=ep=4 --shard=batch=ep
// RUN: llm-judge %s --rung=binary --mesh=ep=4 --shard=seq=ep
// RUN: llm-judge %s --rung=binary --mesh=ep=4,tp=2 --shard=batch=ep

// CHECK-LABEL: func.func @layer
// CHECK: dist.exchange_rows {{.*}} to_experts
// CHECK: dist.exchange_rows
// CHECK-LABEL: func.func @all_to_one
// CHECK: dist.exchange_rows {{.*}} to_experts
func.func @layer(%x: tensor<8x4x70xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %router: tensor<5x70xf32> {graph.kind = #graph.kind<parameter>, graph.name = "router", graph.dims = ["expert", "hidden"]},
    %up: tensor<5x33x70xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["expert", "ffn", "hidden"]},
    %down: tensor<5x70x33xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["expert", "hidden", "ffn"]})
    -> (tensor<8x4x70xf32> {graph.kind = #graph.kind<output>, graph.name = "y", graph.dims = ["batch", "seq", "hidden"]}) {
  %scores = graph.linear %x, %router contract = 1 : (tensor<8x4x70xf32>, tensor<5x70xf32>) -> tensor<8x4x5xf32>
  %p = graph.softmax %scores : tensor<8x4x5xf32>
  %shares, %ids = graph.top_k %p : (tensor<8x4x5xf32>) -> (tensor<8x4x2xf32>, tensor<8x4x2xi32>)
  %rows = graph.dispatch %x, %ids : (tensor<8x4x70xf32>, tensor<8x4x2xi32>) -> tensor<8x4x5x70xf32>
  %u = graph.expert_linear %rows, %up, %ids : (tensor<8x4x5x70xf32>, tensor<5x33x70xf32>, tensor<8x4x2xi32>) -> tensor<8x4x5x33xf32>
  %h = graph.silu %u : tensor<8x4x5x33xf32>
  %d = graph.expert_linear %h, %down, %ids : (tensor<8x4x5x33xf32>, tensor<5x70x33xf32>, tensor<8x4x2xi32>) -> tensor<8x4x5x70xf32>
  %y = graph.combine %d, %ids, %shares : (tensor<8x4x5x70xf32>, tensor<8x4x2xi32>, tensor<8x4x2xf32>) -> tensor<8x4x70xf32>
  return %y : tensor<8x4x70xf32>
}

// Every token chooses the last expert, some of them nobody else; ids outside count for nobody.
func.func @all_to_one(%x: tensor<8x4x70xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %shares: tensor<8x4x2xf32> {graph.kind = #graph.kind<input>, graph.name = "shares", graph.dims = ["batch", "seq", "choice"]},
    %given: tensor<8x4x1xi32> {graph.kind = #graph.kind<input>, graph.name = "given", graph.dims = ["batch", "seq", "choice"]},
    %up: tensor<5x33x70xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["expert", "ffn", "hidden"]},
    %down: tensor<5x70x33xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["expert", "hidden", "ffn"]})
    -> (tensor<8x4x70xf32> {graph.kind = #graph.kind<output>, graph.name = "y", graph.dims = ["batch", "seq", "hidden"]}) {
  %zero = graph.constant dense<0> : tensor<i32> : tensor<i32>
  %last = graph.constant dense<4> : tensor<i32> : tensor<i32>
  %zeros = graph.mul %given, %zero : (tensor<8x4x1xi32>, tensor<i32>) -> tensor<8x4x1xi32>
  %lasts = graph.add %zeros, %last : (tensor<8x4x1xi32>, tensor<i32>) -> tensor<8x4x1xi32>
  %ids = graph.concat %lasts, %given dim = 2 : (tensor<8x4x1xi32>, tensor<8x4x1xi32>) -> tensor<8x4x2xi32>
  %rows = graph.dispatch %x, %ids : (tensor<8x4x70xf32>, tensor<8x4x2xi32>) -> tensor<8x4x5x70xf32>
  %u = graph.expert_linear %rows, %up, %ids : (tensor<8x4x5x70xf32>, tensor<5x33x70xf32>, tensor<8x4x2xi32>) -> tensor<8x4x5x33xf32>
  %h = graph.silu %u : tensor<8x4x5x33xf32>
  %d = graph.expert_linear %h, %down, %ids : (tensor<8x4x5x33xf32>, tensor<5x70x33xf32>, tensor<8x4x2xi32>) -> tensor<8x4x5x70xf32>
  %y = graph.combine %d, %ids, %shares : (tensor<8x4x5x70xf32>, tensor<8x4x2xi32>, tensor<8x4x2xf32>) -> tensor<8x4x70xf32>
  return %y : tensor<8x4x70xf32>
}
