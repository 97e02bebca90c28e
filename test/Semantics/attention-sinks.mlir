// Same numbers where heads, and with them their sinks, lie over ranks (3 heads of keys over 2, 3 and 5), and where the context does: a rank has a part of the
// sum, and the sink is none of it. Queries that see nothing give 0 beside a sink, too. Sinks lie around 3: they take most of the weight.
// RUN: llm-judge %s --entry=prefill --runs=3 --pipeline="tessera-shard{}"
// RUN: llm-judge %s --entry=prefill --runs=3 --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --entry=prefill --runs=3 --pipeline="tessera-shard{mesh=tp=3}"
// RUN: llm-judge %s --entry=prefill --runs=3 --pipeline="tessera-shard{mesh=dp=2,tp=5}"
// RUN: llm-judge %s --entry=prefill --runs=3 --pipeline="tessera-shard{mesh=a=2 shard=group=a}"
// RUN: llm-judge %s --entry=decode --runs=3 --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --entry=decode --runs=3 --pipeline="tessera-shard{mesh=cp=2}"
// RUN: llm-judge %s --entry=decode --runs=3 --pipeline="tessera-shard{mesh=cp=5}"
// RUN: llm-judge %s --entry=decode --runs=3 --pipeline="tessera-shard{mesh=cp=3,tp=2}"
// RUN: llm-opt %s --tessera-shard="mesh=cp=2" | FileCheck %s

!q = tensor<2x4x3x2x4xf32>
!kv = tensor<2x4x3x4xf32>
!sinks = tensor<3x2xf32>
!one = tensor<64x1x3x2x8xf32>
!context = tensor<64x17x3x8xf32>

func.func @prefill(%q: !q {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: !kv {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %s: !sinks {graph.kind = #graph.kind<parameter>, graph.name = "sinks", graph.dims = ["kv_heads", "group"]},
    %p: tensor<2x4xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]})
    -> (!q {graph.kind = #graph.kind<output>, graph.name = "a"}) {
  %three = graph.constant dense<3.0> : tensor<f32> : tensor<f32>
  %sinks = graph.add %s, %three : (!sinks, tensor<f32>) -> !sinks
  %a = graph.attention %q, %k, %k, %p sinks %sinks scale = 0.5 {window = 2 : i64} : (!q, !kv, !kv, tensor<2x4xi32>, !sinks) -> !q
  return %a : !q
}

// Written out over ranks: the sum of weights is combined, then the sink's is added.
// CHECK-LABEL: func.func @decode
// CHECK-NOT: graph.attention
// CHECK: %[[BOTH:.*]] = dist.all_reduce %{{.*}} axes = {"cp"} {{.*}}needs the sum
// CHECK: %[[SUM:.*]] = graph.slice %[[BOTH]]
// CHECK: %[[SINK:.*]] = graph.exp
// CHECK: graph.add %[[SUM]], %[[SINK]]
func.func @decode(%q: !one {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: !context {graph.kind = #graph.kind<state>, graph.name = "k", graph.dims = ["batch", "context", "kv_heads", "head_dim"]},
    %s: !sinks {graph.kind = #graph.kind<parameter>, graph.name = "sinks", graph.dims = ["kv_heads", "group"]},
    %p: tensor<64x1xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]})
    -> (!one {graph.kind = #graph.kind<output>, graph.name = "a"}) {
  %begin = graph.constant dense<13> : tensor<i32> : tensor<i32>
  %three = graph.constant dense<3.0> : tensor<f32> : tensor<f32>
  %at = graph.add %p, %begin : (tensor<64x1xi32>, tensor<i32>) -> tensor<64x1xi32>
  %sinks = graph.add %s, %three : (!sinks, tensor<f32>) -> !sinks
  %a = graph.attention %q, %k, %k, %at sinks %sinks scale = 0.35 : (!one, !context, !context, tensor<64x1xi32>, !sinks) -> !one
  return %a : !one
}
