// T9: gradients added up over micro-batches. The sum over dp stays open while the loop carries it, and closes once after it; only a pin of what is
// carried makes one reduction of each iteration. Which of them costs less is the plan.
// RUN: llm-opt %s --tessera-shard="mesh=dp=4" | FileCheck %s --check-prefixes=CHECK,OPEN
// RUN: llm-opt %s --tessera-shard="mesh=dp=4 shard=dw:hidden=dp" | FileCheck %s --check-prefixes=CHECK,SCATTER
// RUN: llm-opt %s --tessera-shard="mesh=dp=4 shard=gradient:hidden=dp,dw:hidden=dp" | FileCheck %s --check-prefixes=CHECK,PINNED
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=4}" --entry=accumulate
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=4 shard=dw:hidden=dp}" --entry=accumulate
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=4 shard=gradient:hidden=dp,dw:hidden=dp}" --entry=accumulate
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=3,tp=5 shard=ffn=tp}" --entry=accumulate
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=3}" --entry=nested
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=4}" --entry=ones

// What starts as zeros, to be added up in, is not laid in pieces before the sum is left open.
// RUN: llm-opt %s --tessera-shard="mesh=dp=4" --remarks-filter=dist --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-NOT: carries value #0 as [dp/-]
// REMARK: remark: [Passed] carried {{.*}}"repeat carries value #0 as [-/-] U{dp} (

// CHECK-LABEL: func.func @accumulate

// OPEN: graph.constant dense<0.000000e+00> {{.*}}partial=sum{"dp"}
// OPEN: graph.repeat 4 carry({{.*}}partial=sum{"dp"}
// OPEN-NOT: = dist.
// OPEN: graph.yield
// OPEN: dist.all_reduce %{{.*}} axes = {"dp"} {why = "repeat carries a sum over {dp}; dw needs the sum"}
// OPEN-NEXT: return

// SCATTER: graph.repeat 4 carry({{.*}}partial=sum{"dp"}
// SCATTER-NOT: = dist.
// SCATTER: graph.yield
// SCATTER: dist.reduce_scatter %{{.*}} dim = 1 axes = {"dp"}
// SCATTER-NEXT: return

// PINNED: graph.repeat 4 carry(
// PINNED: dist.reduce_scatter %{{.*}} dim = 1 axes = {"dp"}
// PINNED: graph.yield
// PINNED-NOT: = dist.
// PINNED: return
func.func @accumulate(%x: tensor<4x8x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["micro", "batch", "seq", "hidden"]},
    %g: tensor<4x8x16x128xf32> {graph.kind = #graph.kind<input>, graph.name = "g", graph.dims = ["micro", "batch", "seq", "ffn"]})
    -> (tensor<128x64xf32> {graph.kind = #graph.kind<output>, graph.name = "sum"}) {
  %zero = graph.constant dense<0.0> : tensor<128x64xf32> : tensor<128x64xf32>
  %r = graph.repeat 4 carry(%zero : tensor<128x64xf32>) stack(%x, %g : tensor<4x8x16x64xf32>, tensor<4x8x16x128xf32>) -> (tensor<128x64xf32>) {
  ^bb0(%i: tensor<i32>, %sum: tensor<128x64xf32>, %xi: tensor<8x16x64xf32>, %gi: tensor<8x16x128xf32>):
    %xt = graph.transpose %xi [2, 0, 1] : (tensor<8x16x64xf32>) -> tensor<64x8x16xf32>
    %gt = graph.transpose %gi [2, 0, 1] : (tensor<8x16x128xf32>) -> tensor<128x8x16xf32>
    %one = graph.linear %gt, %xt contract = 2 : (tensor<128x8x16xf32>, tensor<64x8x16xf32>) -> tensor<128x64xf32>
    %more = graph.add %sum, %one : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %next = graph.name %more inner "gradient" ["ffn", "hidden"] : tensor<128x64xf32>
    graph.yield %next : tensor<128x64xf32>
  }
  %dw = graph.name %r "dw" ["ffn", "hidden"] : tensor<128x64xf32>
  return %dw : tensor<128x64xf32>
}

// A loop in a loop: the sum is carried through both, from a value that is not zero, decayed on the way.

// CHECK-LABEL: func.func @nested
// OPEN: dist.contribute %{{.*}} axes = {"dp"} {why = "one rank of {dp} contributes it to what repeat leaves open"}
// OPEN: graph.repeat 2 carry({{.*}}partial=sum{"dp"}
// OPEN: graph.repeat 3 carry({{.*}}partial=sum{"dp"}
// OPEN-NOT: = dist.
// OPEN: graph.yield
// OPEN-NOT: = dist.
// OPEN: graph.yield
// OPEN: dist.all_reduce %{{.*}} axes = {"dp"}
// OPEN-NEXT: return
func.func @nested(%x: tensor<8x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x2", graph.dims = ["batch", "seq", "hidden"]},
    %g: tensor<8x16x128xf32> {graph.kind = #graph.kind<input>, graph.name = "g2", graph.dims = ["batch", "seq", "ffn"]},
    %start: tensor<128x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "start", graph.dims = ["ffn", "hidden"]})
    -> (tensor<128x64xf32> {graph.kind = #graph.kind<output>, graph.name = "dw2"}) {
  %decay = graph.constant dense<0.5> : tensor<128x64xf32> : tensor<128x64xf32>
  %r = graph.repeat 2 carry(%start : tensor<128x64xf32>) -> (tensor<128x64xf32>) {
  ^bb0(%i: tensor<i32>, %sum: tensor<128x64xf32>):
    %less = graph.mul %sum, %decay : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %q = graph.repeat 3 carry(%less : tensor<128x64xf32>) -> (tensor<128x64xf32>) {
    ^bb0(%j: tensor<i32>, %inner: tensor<128x64xf32>):
      %xt = graph.transpose %x [2, 0, 1] : (tensor<8x16x64xf32>) -> tensor<64x8x16xf32>
      %gt = graph.transpose %g [2, 0, 1] : (tensor<8x16x128xf32>) -> tensor<128x8x16xf32>
      %dw = graph.linear %gt, %xt contract = 2 : (tensor<128x8x16xf32>, tensor<64x8x16xf32>) -> tensor<128x64xf32>
      %more = graph.add %inner, %dw : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
      graph.yield %more : tensor<128x64xf32>
    }
    graph.yield %q : tensor<128x64xf32>
  }
  return %r : tensor<128x64xf32>
}

// From ones: only zeros are a sum of any number of ranks at no cost, of other constants one rank has one.

// CHECK-LABEL: func.func @ones
// OPEN: dist.contribute
// OPEN: graph.repeat 4 carry({{.*}}partial=sum{"dp"}
func.func @ones(%x: tensor<4x8x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x3", graph.dims = ["micro", "batch", "hidden"]},
    %g: tensor<4x8x32xf32> {graph.kind = #graph.kind<input>, graph.name = "g3", graph.dims = ["micro", "batch", "ffn"]})
    -> (tensor<32x64xf32> {graph.kind = #graph.kind<output>, graph.name = "sum3"}) {
  %one = graph.constant dense<1.0> : tensor<32x64xf32> : tensor<32x64xf32>
  %r = graph.repeat 4 carry(%one : tensor<32x64xf32>) stack(%x, %g : tensor<4x8x64xf32>, tensor<4x8x32xf32>) -> (tensor<32x64xf32>) {
  ^bb0(%i: tensor<i32>, %sum: tensor<32x64xf32>, %xi: tensor<8x64xf32>, %gi: tensor<8x32xf32>):
    %xt = graph.transpose %xi [1, 0] : (tensor<8x64xf32>) -> tensor<64x8xf32>
    %gt = graph.transpose %gi [1, 0] : (tensor<8x32xf32>) -> tensor<32x8xf32>
    %p = graph.linear %gt, %xt contract = 1 : (tensor<32x8xf32>, tensor<64x8xf32>) -> tensor<32x64xf32>
    %more = graph.add %sum, %p : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
    graph.yield %more : tensor<32x64xf32>
  }
  return %r : tensor<32x64xf32>
}
