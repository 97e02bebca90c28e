// What one function gives another lies as its maker leaves it: a dimension that no name shards is open there, and closed in what only the caller gives.
// RUN: llm-opt %s --dist-annotate="mesh=tp=2 shard=residual:seq=tp" | FileCheck %s
// RUN: llm-opt %s --tessera-shard="mesh=tp=2 shard=residual:seq=tp" | FileCheck %s --check-prefix=SPMD
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2 shard=residual:seq=tp}"

// CHECK-LABEL: func.func @first
// CHECK-SAME: %arg0: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{}, {}, {}]>
// CHECK-LABEL: func.func @second
// CHECK-SAME: %arg0: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{?}, {?}, {?}]>

// SPMD-LABEL: func.func @first
// SPMD: return %{{.*}} : tensor<2x8x4xf32, #dist.sharding<@mesh, [{}, {"tp"}, {}],
// SPMD-LABEL: func.func @second
// SPMD-SAME: %arg0: tensor<2x8x4xf32, #dist.sharding<@mesh, [{}, {"tp"}, {}],
// SPMD-NOT: dist.all_gather
func.func @first(%x: tensor<2x16x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]})
    -> (tensor<2x16x4xf32> {graph.kind = #graph.kind<output>, graph.name = "h", graph.dims = ["batch", "seq", "hidden"]}) {
  %0 = graph.exp %x : tensor<2x16x4xf32>
  %1 = graph.name %0 "residual" ["batch", "seq", "hidden"] : tensor<2x16x4xf32>
  return %1 : tensor<2x16x4xf32>
}
func.func @second(%h: tensor<2x16x4xf32> {graph.kind = #graph.kind<input>, graph.name = "h", graph.dims = ["batch", "seq", "hidden"]})
    -> (tensor<2x16x4xf32> {graph.kind = #graph.kind<output>, graph.name = "y", graph.dims = ["batch", "seq", "hidden"]}) {
  %0 = graph.exp %h : tensor<2x16x4xf32>
  return %0 : tensor<2x16x4xf32>
}
