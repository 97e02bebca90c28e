// T7, T20: the tied table lies [tp/-] for lookup and head and is never moved, nor are logits. Forward one sum of the rows looked up, two values per token
// for the loss and a scalar; backward one sum of the rows' gradient over tp, and ONE sum over dp of the table's two gradients, which add up while partial.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s

// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {{.*}} -> tensor<2x16x64xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {{.*}} -> tensor<2x16xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {{.*}} -> tensor<2x16xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {{.*}} -> tensor<2x16x64xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: graph.scatter_add
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: %[[BOTH:.*]] = graph.add {{.*}} -> tensor<128x64xf32, #dist.sharding<@mesh, [{"tp"}, {}], partial=sum{"dp"}, global=[512, 64]>>
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"dp", "tp"} {{.*}} -> tensor<f32,
// CHECK-NEXT: dist.all_reduce %[[BOTH]] axes = {"dp"} {{.*}} -> tensor<128x64xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}

func.func @step(%ids: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
    %shifted: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "labels", graph.dims = ["batch", "seq"]},
    %table: tensor<512x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "embedding", graph.dims = ["vocab", "hidden"]})
    -> (tensor<f32> {graph.name = "loss"}, tensor<512x64xf32> {graph.name = "embedding"}) {
  %one = graph.constant dense<1> : tensor<i32> : tensor<i32>
  %labels = graph.sub %shifted, %one : (tensor<4x16xi32>, tensor<i32>) -> tensor<4x16xi32>
  %e = graph.embedding %table, %ids : (tensor<512x64xf32>, tensor<4x16xi32>) -> tensor<4x16x64xf32>
  %l = graph.linear %e, %table contract = 1 : (tensor<4x16x64xf32>, tensor<512x64xf32>) -> tensor<4x16x512xf32>
  %loss, %lse = graph.cross_entropy %l, %labels : (tensor<4x16x512xf32>, tensor<4x16xi32>) -> (tensor<4x16xf32>, tensor<4x16xf32>)
  %sum = graph.reduce sum %loss dims = [0, 1] : (tensor<4x16xf32>) -> tensor<f32>
  // Backward of the loss: exp(logit - lse) - one-hot, or 0 for an ignored label.
  %z = graph.constant dense<0.0> : tensor<f32> : tensor<f32>
  %zero = graph.constant dense<0> : tensor<i32> : tensor<i32>
  %o = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  %lse1 = graph.reshape %lse : (tensor<4x16xf32>) -> tensor<4x16x1xf32>
  %label1 = graph.reshape %labels : (tensor<4x16xi32>) -> tensor<4x16x1xi32>
  %below = graph.sub %l, %lse1 : (tensor<4x16x512xf32>, tensor<4x16x1xf32>) -> tensor<4x16x512xf32>
  %p = graph.exp %below : tensor<4x16x512xf32>
  %rows = graph.iota dim = 0 : tensor<512xi32>
  %hit = graph.compare eq %label1, %rows : (tensor<4x16x1xi32>, tensor<512xi32>) -> tensor<4x16x512xi1>
  %hot = graph.select %hit, %o, %z : (tensor<4x16x512xi1>, tensor<f32>, tensor<f32>) -> tensor<4x16x512xf32>
  %all = graph.sub %p, %hot : (tensor<4x16x512xf32>, tensor<4x16x512xf32>) -> tensor<4x16x512xf32>
  %counts = graph.compare ge %label1, %zero : (tensor<4x16x1xi32>, tensor<i32>) -> tensor<4x16x1xi1>
  %dl = graph.select %counts, %all, %z : (tensor<4x16x1xi1>, tensor<4x16x512xf32>, tensor<f32>) -> tensor<4x16x512xf32>
  // The table's two gradients.
  %tablet = graph.transpose %table [1, 0] : (tensor<512x64xf32>) -> tensor<64x512xf32>
  %de = graph.linear %dl, %tablet contract = 1 : (tensor<4x16x512xf32>, tensor<64x512xf32>) -> tensor<4x16x64xf32>
  %dlt = graph.transpose %dl [2, 0, 1] : (tensor<4x16x512xf32>) -> tensor<512x4x16xf32>
  %et = graph.transpose %e [2, 0, 1] : (tensor<4x16x64xf32>) -> tensor<64x4x16xf32>
  %dhead = graph.linear %dlt, %et contract = 2 : (tensor<512x4x16xf32>, tensor<64x4x16xf32>) -> tensor<512x64xf32>
  %dlookup = graph.scatter_add %de, %ids : (tensor<4x16x64xf32>, tensor<4x16xi32>) -> tensor<512x64xf32>
  %dtable = graph.add %dhead, %dlookup : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  return %sum, %dtable : tensor<f32>, tensor<512x64xf32>
}
