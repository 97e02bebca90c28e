// Same numbers with all heads normalised at once and heads sharded, dividing or not: padding never counts, and one number a token travels.
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2 shard=kv_heads=tp}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=4 shard=kv_heads=tp}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=2,b=3 shard=kv_heads=a,group=b}"
// RUN: llm-judge %s --rung=binary --mesh=tp=2 --shard=kv_heads=tp
// RUN: llm-opt %s --tessera-shard="mesh=tp=2 shard=kv_heads=tp" | FileCheck %s
// CHECK: graph.mask_padding
// CHECK: graph.reduce sum {{.*}} dims = [2, 3, 4]
// CHECK: dist.all_reduce {{.*}} tensor<2x5xf32
// CHECK-NOT: dist.all
func.func @forward(%x: tensor<2x5x3x3x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %g: tensor<3x3x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "g", graph.dims = ["kv_heads", "group", "head_dim"]})
    -> (tensor<2x5x3x3x4xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %n = graph.rms_norm %x, %g eps = 1.000000e-05 : (tensor<2x5x3x3x4xf32>, tensor<3x3x4xf32>) -> tensor<2x5x3x3x4xf32>
  %y = graph.name %n "y" ["batch", "seq", "kv_heads", "group", "head_dim"] : tensor<2x5x3x3x4xf32>
  return %y : tensor<2x5x3x3x4xf32>
}
