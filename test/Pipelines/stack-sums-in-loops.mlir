// Gradients of layers, a stack that an inner loop returns, added up over micro-batches by an outer one. Where the sum is wanted in pieces (ZeRO-1: the update
// runs on shards) it stays open over the same axis through both loops and is scattered once behind them: apart, neither loop would gain by that.
// A pin of what is carried (ZeRO-2) has each layer of each micro-batch scattered, and leaves sums over axes that it does not name open (HSDP).
// RUN: llm-opt %s --tessera-shard="mesh=dp=4 shard=dw:hidden=dp" | FileCheck %s --check-prefix=OPEN
// RUN: llm-opt %s --tessera-shard="mesh=dp=4 shard=dw:hidden=dp,gradient:hidden=dp" | FileCheck %s --check-prefix=PINNED
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,fsdp=2 shard=gradient:hidden=fsdp,dw:hidden=fsdp" | FileCheck %s --check-prefix=BOTH
// RUN: llm-opt %s --tessera-shard="mesh=dp=4 shard=dw:hidden=dp" --remarks-filter=dist --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=4 shard=dw:hidden=dp}" --entry=step
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=3 shard=dw:hidden=dp}" --entry=step
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=4 shard=dw:hidden=dp,gradient:hidden=dp}" --entry=step
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,fsdp=2 shard=gradient:hidden=fsdp,dw:hidden=fsdp}" --entry=step

// REMARK: remark: [Passed] carried {{.*}}"repeat carries value #0 as [-/-/-] U{dp}, with the others over the same axes and the stacks that flow into them

// OPEN: graph.repeat 4 carry({{.*}}tensor<6x64x64xf32, #dist.sharding<@mesh, [{}, {}, {}], partial=sum{"dp"}
// OPEN: graph.repeat 6 {{.*}}tensor<6x64x64xf32, #dist.sharding<@mesh, [{}, {}, {}], partial=sum{"dp"}
// OPEN-NOT: = dist.
// OPEN: graph.yield
// OPEN-NOT: = dist.
// OPEN: graph.yield
// OPEN: dist.reduce_scatter %{{.*}} dim = 2 axes = {"dp"}
// OPEN-NOT: = dist.
// OPEN: return

// PINNED: graph.repeat 4 carry({{.*}}tensor<6x64x16xf32
// PINNED: graph.repeat 6
// PINNED: dist.reduce_scatter {{.*}}axes = {"dp"}
// PINNED: graph.yield
// PINNED: graph.yield
// PINNED-NOT: = dist.
// PINNED: return

// BOTH: graph.repeat 4 carry({{.*}}tensor<6x64x32xf32, #dist.sharding<@mesh, [{}, {}, {"fsdp"}], partial=sum{"dp"}
// BOTH: graph.repeat 6
// BOTH-NOT: axes = {"dp"}
// BOTH: dist.reduce_scatter {{.*}}axes = {"fsdp"}
// BOTH-NOT: axes = {"dp"}
// BOTH: graph.yield
// BOTH-NOT: = dist.
// BOTH: graph.yield
// BOTH: dist.all_reduce {{.*}}axes = {"dp"}
// BOTH-NOT: = dist.
// BOTH: return
!x = tensor<8x16x64xf32>
!w = tensor<64x64xf32>
!ws = tensor<6x64x64xf32>
!xs = tensor<6x8x16x64xf32>
func.func @step(%x: tensor<4x6x8x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["micro", "layer", "batch", "seq", "in"]},
    %g: tensor<4x8x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "g", graph.dims = ["micro", "batch", "seq", "out"]})
    -> (!ws {graph.kind = #graph.kind<output>, graph.name = "sum"}) {
  %zero = graph.constant dense<0.0> : !ws : !ws
  %none = graph.constant dense<0.0> : tensor<f32> : tensor<f32>
  %r = graph.repeat 4 carry(%zero : !ws) stack(%x, %g : tensor<4x6x8x16x64xf32>, tensor<4x8x16x64xf32>) -> (!ws) {
  ^bb0(%i: tensor<i32>, %sum: !ws, %xs: !xs, %gi: !x):
    %c, %stack = graph.repeat 6 carry(%none : tensor<f32>) stack(%xs : !xs) -> (tensor<f32>, !ws) {
    ^bb0(%j: tensor<i32>, %cc: tensor<f32>, %xi: !x):
      %xt = graph.transpose %xi [2, 0, 1] : (!x) -> tensor<64x8x16xf32>
      %gt = graph.transpose %gi [2, 0, 1] : (!x) -> tensor<64x8x16xf32>
      %one = graph.linear %gt, %xt contract = 2 : (tensor<64x8x16xf32>, tensor<64x8x16xf32>) -> !w
      graph.yield %cc, %one : tensor<f32>, !w
    }
    %more = graph.add %sum, %stack : (!ws, !ws) -> !ws
    %next = graph.name %more inner "gradient" ["layer", "out", "hidden"] : !ws
    graph.yield %next : !ws
  }
  %dw = graph.name %r "dw" ["layer", "out", "hidden"] : !ws
  return %dw : !ws
}
