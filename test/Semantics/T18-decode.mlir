// T18: same numbers where the context of a cache lies over ranks: 17 places over 2, 3 and 5 ranks, with a window that leaves some ranks nothing to see, a
// soft cap, queries that see nothing (position -1), several positions at once, and in bf16.
// RUN: llm-judge %s --entry=short --runs=3 --pipeline="tessera-shard{mesh=cp=2}"
// RUN: llm-judge %s --entry=window --runs=3 --pipeline="tessera-shard{mesh=cp=2}"
// RUN: llm-judge %s --entry=few --runs=3 --pipeline="tessera-shard{mesh=cp=2}"
// RUN: llm-judge %s --entry=narrow --runs=3 --pipeline="tessera-shard{mesh=cp=2}"
// RUN: llm-judge %s --entry=short --runs=3 --pipeline="tessera-shard{mesh=cp=3}"
// RUN: llm-judge %s --entry=window --runs=3 --pipeline="tessera-shard{mesh=cp=3}"
// RUN: llm-judge %s --entry=few --runs=3 --pipeline="tessera-shard{mesh=cp=3}"
// RUN: llm-judge %s --entry=narrow --runs=3 --pipeline="tessera-shard{mesh=cp=3}"
// RUN: llm-judge %s --entry=short --runs=3 --pipeline="tessera-shard{mesh=cp=5}"
// RUN: llm-judge %s --entry=window --runs=3 --pipeline="tessera-shard{mesh=cp=5}"
// RUN: llm-judge %s --entry=few --runs=3 --pipeline="tessera-shard{mesh=cp=5}"
// RUN: llm-judge %s --entry=narrow --runs=3 --pipeline="tessera-shard{mesh=cp=5}"
// RUN: llm-judge %s --entry=short --runs=3 --pipeline="tessera-shard{mesh=cp=2,tp=2}"
// RUN: llm-judge %s --entry=window --runs=3 --pipeline="tessera-shard{mesh=cp=2,tp=2}"
// RUN: llm-judge %s --entry=few --runs=3 --pipeline="tessera-shard{mesh=cp=2,tp=2}"
// RUN: llm-judge %s --entry=narrow --runs=3 --pipeline="tessera-shard{mesh=cp=2,tp=2}"
// RUN: llm-judge %s --entry=short --runs=3 --pipeline="tessera-shard{mesh=dp=2,cp=3}"
// RUN: llm-judge %s --entry=window --runs=3 --pipeline="tessera-shard{mesh=dp=2,cp=3}"
// RUN: llm-judge %s --entry=few --runs=3 --pipeline="tessera-shard{mesh=dp=2,cp=3}"
// RUN: llm-judge %s --entry=narrow --runs=3 --pipeline="tessera-shard{mesh=dp=2,cp=3}"
// RUN: llm-opt %s --tessera-shard="mesh=cp=2" | FileCheck %s
// RUN: llm-opt %s --tessera-shard="mesh=cp=5" | FileCheck %s

// Every attention is written out: there are many keys for few queries.
// CHECK-NOT: graph.attention
func.func @short(%q: tensor<64x1x4x2x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<64x17x4x8xf32> {graph.kind = #graph.kind<state>, graph.name = "k", graph.dims = ["batch", "context", "kv_heads", "head_dim"]},
    %v: tensor<64x17x4x8xf32> {graph.kind = #graph.kind<state>, graph.name = "v", graph.dims = ["batch", "context", "kv_heads", "head_dim"]},
    %p: tensor<64x1xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]})
    -> (tensor<64x1x4x2x8xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}) {
  %begin = graph.constant dense<13> : tensor<i32> : tensor<i32>
  %at = graph.add %p, %begin : (tensor<64x1xi32>, tensor<i32>) -> tensor<64x1xi32>
  %a = graph.attention %q, %k, %v, %at scale = 0.35 : (tensor<64x1x4x2x8xf32>, tensor<64x17x4x8xf32>, tensor<64x17x4x8xf32>, tensor<64x1xi32>) -> tensor<64x1x4x2x8xf32>
  return %a : tensor<64x1x4x2x8xf32>
}
func.func @window(%q: tensor<64x1x3x3x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<64x17x3x8xf32> {graph.kind = #graph.kind<state>, graph.name = "k", graph.dims = ["batch", "context", "kv_heads", "head_dim"]},
    %v: tensor<64x17x3x8xf32> {graph.kind = #graph.kind<state>, graph.name = "v", graph.dims = ["batch", "context", "kv_heads", "head_dim"]},
    %p: tensor<64x1xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]})
    -> (tensor<64x1x3x3x8xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}) {
  %begin = graph.constant dense<10> : tensor<i32> : tensor<i32>
  %at = graph.add %p, %begin : (tensor<64x1xi32>, tensor<i32>) -> tensor<64x1xi32>
  %a = graph.attention %q, %k, %v, %at scale = 0.35 {window = 4 : i64, softcap = 2.0 : f64} : (tensor<64x1x3x3x8xf32>, tensor<64x17x3x8xf32>, tensor<64x17x3x8xf32>, tensor<64x1xi32>) -> tensor<64x1x3x3x8xf32>
  return %a : tensor<64x1x3x3x8xf32>
}
func.func @few(%q: tensor<64x3x2x1x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<64x65x2x8xf32> {graph.kind = #graph.kind<state>, graph.name = "k", graph.dims = ["batch", "context", "kv_heads", "head_dim"]},
    %v: tensor<64x65x2x8xf32> {graph.kind = #graph.kind<state>, graph.name = "v", graph.dims = ["batch", "context", "kv_heads", "head_dim"]},
    %p: tensor<64x3xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]})
    -> (tensor<64x3x2x1x8xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}) {
  %begin = graph.constant dense<0> : tensor<i32> : tensor<i32>
  %at = graph.add %p, %begin : (tensor<64x3xi32>, tensor<i32>) -> tensor<64x3xi32>
  %a = graph.attention %q, %k, %v, %at scale = 0.35 {window = 30 : i64} : (tensor<64x3x2x1x8xf32>, tensor<64x65x2x8xf32>, tensor<64x65x2x8xf32>, tensor<64x3xi32>) -> tensor<64x3x2x1x8xf32>
  return %a : tensor<64x3x2x1x8xf32>
}
func.func @narrow(%q: tensor<64x1x4x1x8xbf16> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<64x17x4x8xbf16> {graph.kind = #graph.kind<state>, graph.name = "k", graph.dims = ["batch", "context", "kv_heads", "head_dim"]},
    %v: tensor<64x17x4x8xbf16> {graph.kind = #graph.kind<state>, graph.name = "v", graph.dims = ["batch", "context", "kv_heads", "head_dim"]},
    %p: tensor<64x1xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]})
    -> (tensor<64x1x4x1x8xbf16> {graph.kind = #graph.kind<output>, graph.name = "a"}) {
  %begin = graph.constant dense<9> : tensor<i32> : tensor<i32>
  %at = graph.add %p, %begin : (tensor<64x1xi32>, tensor<i32>) -> tensor<64x1xi32>
  %a = graph.attention %q, %k, %v, %at scale = 0.35 : (tensor<64x1x4x1x8xbf16>, tensor<64x17x4x8xbf16>, tensor<64x17x4x8xbf16>, tensor<64x1xi32>) -> tensor<64x1x4x1x8xbf16>
  return %a : tensor<64x1x4x1x8xbf16>
}
