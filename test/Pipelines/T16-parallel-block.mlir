// T16: attention and MLP side by side (GPT-NeoX): both partial sums add up first, one all_reduce.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4}" --entry=block
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4}" --entry=three
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=5}" --entry=three

// CHECK-LABEL: func.func @block
// CHECK: graph.add {{.*}} -> tensor<2x16x64xf32, {{.*}}partial=sum{"tp"}
// CHECK-NEXT: dist.all_reduce
// CHECK-NEXT: graph.add
// CHECK-NOT: dist.all_reduce
func.func @block(%x: tensor<4x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %a: tensor<4x16x256xf32> {graph.kind = #graph.kind<input>, graph.name = "a", graph.dims = ["batch", "seq", "heads"]},
    %h: tensor<4x16x256xf32> {graph.kind = #graph.kind<input>, graph.name = "h", graph.dims = ["batch", "seq", "ffn"]},
    %wo: tensor<64x256xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "heads"]},
    %wd: tensor<64x256xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["hidden", "ffn"]}) -> tensor<4x16x64xf32> {
  %0 = graph.linear %a, %wo contract = 1 : (tensor<4x16x256xf32>, tensor<64x256xf32>) -> tensor<4x16x64xf32>
  %1 = graph.linear %h, %wd contract = 1 : (tensor<4x16x256xf32>, tensor<64x256xf32>) -> tensor<4x16x64xf32>
  %2 = graph.add %0, %1 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  %3 = graph.add %x, %2 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  return %3 : tensor<4x16x64xf32>
}

// Three branches, added to the residual one by one: still one all_reduce, and nothing is added once per rank.
// CHECK-LABEL: func.func @three
// CHECK: dist.contribute %arg0 axes = {"tp"}
// CHECK-NOT: dist.{{all|reduce|coll|contr}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"}
// CHECK-NEXT: return
func.func @three(%x: tensor<4x16x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %a: tensor<4x16x256xf32> {graph.kind = #graph.kind<input>, graph.name = "a", graph.dims = ["batch", "seq", "heads"]},
    %h: tensor<4x16x256xf32> {graph.kind = #graph.kind<input>, graph.name = "h", graph.dims = ["batch", "seq", "ffn"]},
    %g: tensor<4x16x256xf32> {graph.kind = #graph.kind<input>, graph.name = "g", graph.dims = ["batch", "seq", "ffn"]},
    %wo: tensor<64x256xf32> {graph.kind = #graph.kind<parameter>, graph.name = "o", graph.dims = ["hidden", "heads"]},
    %wd: tensor<64x256xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["hidden", "ffn"]},
    %we: tensor<64x256xf32> {graph.kind = #graph.kind<parameter>, graph.name = "expert", graph.dims = ["hidden", "ffn"]})
    -> (tensor<4x16x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.linear %a, %wo contract = 1 : (tensor<4x16x256xf32>, tensor<64x256xf32>) -> tensor<4x16x64xf32>
  %1 = graph.add %x, %0 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  %2 = graph.linear %h, %wd contract = 1 : (tensor<4x16x256xf32>, tensor<64x256xf32>) -> tensor<4x16x64xf32>
  %3 = graph.add %1, %2 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  %4 = graph.linear %g, %we contract = 1 : (tensor<4x16x256xf32>, tensor<64x256xf32>) -> tensor<4x16x64xf32>
  %5 = graph.sub %3, %4 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  return %5 : tensor<4x16x64xf32>
}
