// T17: a bias or a residual beside a row-parallel product. It is added once: after the reduction, or on one rank into the sum while that is
// open. No bytes more, and one all_reduce where several sums come together.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4}" --entry=bias
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4}" --entry=residual
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4}" --entry=residual_two
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=3}" --entry=residual_two
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=3,tp=5}" --entry=residual_two

// CHECK-LABEL: func.func @bias
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"}
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: return
func.func @bias(%h: tensor<4x16x256xf32> {graph.kind = #graph.kind<input>, graph.name = "h", graph.dims = ["batch", "seq", "ffn"]},
    %w: tensor<64x256xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["hidden", "ffn"]},
    %b: tensor<64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "bias", graph.dims = ["hidden"]})
    -> (tensor<4x16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y1"}) {
  %0 = graph.linear %h, %w contract = 1 : (tensor<4x16x256xf32>, tensor<64x256xf32>) -> tensor<4x16x64xf32>
  %1 = graph.add %0, %b : (tensor<4x16x64xf32>, tensor<64xf32>) -> tensor<4x16x64xf32>
  return %1 : tensor<4x16x64xf32>
}

// The residual joins the first sum: (x + a) + m with one all_reduce of both, not two.
// CHECK-LABEL: func.func @residual(
// CHECK: dist.contribute %{{.*}} axes = {"tp"} {why = "one rank of {tp} contributes it to what add leaves open"}
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: graph.add {{.*}} -> tensor<2x16x64xf32, {{.*}}partial=sum{"tp"}
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: graph.add {{.*}} -> tensor<2x16x64xf32, {{.*}}partial=sum{"tp"}
// CHECK-NEXT: dist.all_reduce %{{.*}} axes = {"tp"}
// CHECK-NEXT: return
func.func @residual(%x: tensor<4x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %a: tensor<4x16x256xf32> {graph.kind = #graph.kind<input>, graph.name = "a", graph.dims = ["batch", "seq", "heads"]},
    %h: tensor<4x16x256xf32> {graph.kind = #graph.kind<input>, graph.name = "h", graph.dims = ["batch", "seq", "ffn"]},
    %wo: tensor<64x256xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "heads"]},
    %wd: tensor<64x256xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["hidden", "ffn"]})
    -> (tensor<4x16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y2"}) {
  %0 = graph.linear %a, %wo contract = 1 : (tensor<4x16x256xf32>, tensor<64x256xf32>) -> tensor<4x16x64xf32>
  %1 = graph.add %x, %0 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  %2 = graph.linear %h, %wd contract = 1 : (tensor<4x16x256xf32>, tensor<64x256xf32>) -> tensor<4x16x64xf32>
  %3 = graph.add %1, %2 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  return %3 : tensor<4x16x64xf32>
}

// The same with a bias in each branch: residual and biases are contributed, one all_reduce.
// CHECK-LABEL: func.func @residual_two
// CHECK-COUNT-1: dist.all_reduce
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: return
func.func @residual_two(%x: tensor<4x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %a: tensor<4x16x256xf32> {graph.kind = #graph.kind<input>, graph.name = "a", graph.dims = ["batch", "seq", "heads"]},
    %h: tensor<4x16x256xf32> {graph.kind = #graph.kind<input>, graph.name = "h", graph.dims = ["batch", "seq", "ffn"]},
    %wo: tensor<64x256xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "heads"]},
    %bo: tensor<64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o_bias", graph.dims = ["hidden"]},
    %wd: tensor<64x256xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["hidden", "ffn"]},
    %bd: tensor<64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down_bias", graph.dims = ["hidden"]})
    -> (tensor<4x16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y3"}) {
  %0 = graph.linear %a, %wo contract = 1 : (tensor<4x16x256xf32>, tensor<64x256xf32>) -> tensor<4x16x64xf32>
  %1 = graph.add %0, %bo : (tensor<4x16x64xf32>, tensor<64xf32>) -> tensor<4x16x64xf32>
  %2 = graph.add %x, %1 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  %3 = graph.linear %h, %wd contract = 1 : (tensor<4x16x256xf32>, tensor<64x256xf32>) -> tensor<4x16x64xf32>
  %4 = graph.add %3, %bd : (tensor<4x16x64xf32>, tensor<64xf32>) -> tensor<4x16x64xf32>
  %5 = graph.add %2, %4 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  return %5 : tensor<4x16x64xf32>
}
