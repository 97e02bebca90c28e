// T7: vocab-parallel cross entropy, logits [dp/-/tp]: over tp one maximum and one sum of exponentials per token (2 x 16 tokens a rank, 4 bytes), and
// nothing else. The label's logit and log-sum-exp stay a partial sum until the scalar loss, one all_reduce of 4 bytes over dp and tp
// together. XLA sends a third value per token. Logits are never gathered; 389 rows over tp are padded, and padding is masked.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4" | FileCheck %s --check-prefix=UNEVEN
// RUN: llm-opt %s --tessera-shard="mesh=dp=2" | FileCheck %s --check-prefix=WHOLE

// CHECK-LABEL: func.func @loss
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {why = "cross_entropy reduces over vocab, sharded over {tp}; {{.*}}needs the maximum"} : tensor<2x16xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {{.*}} : tensor<2x16xf32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"dp", "tp"} {{.*}} : tensor<f32,
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK-LABEL: func.func @uneven

// UNEVEN-LABEL: func.func @uneven
// UNEVEN-NOT: dist.{{all|reduce|coll}}
// UNEVEN: graph.mask_padding %{{.*}} dims = [2] value = 0xFFF0000000000000 : tensor<2x16x98xf32,
// UNEVEN: dist.all_reduce %{{.*}} axes = {"tp"} {{.*}} : tensor<2x16xf32,
// UNEVEN-NOT: dist.{{all|reduce|coll}}
// UNEVEN: dist.all_reduce %{{.*}} axes = {"tp"} {{.*}} : tensor<2x16xf32,
// UNEVEN-NOT: dist.{{all|reduce|coll}}
// UNEVEN: dist.all_reduce %{{.*}} axes = {"dp", "tp"} {{.*}} : tensor<f32,
// UNEVEN-NOT: dist.{{all|reduce|coll}}

// Where the vocabulary is whole, the op stays one op.
// WHOLE: graph.cross_entropy %{{.*}} : (tensor<2x16x512xf32,
// WHOLE: dist.all_reduce %{{.*}} axes = {"dp"} {{.*}} : tensor<f32,
func.func @loss(%logits: tensor<4x16x512xf32> {graph.kind = #graph.kind<input>, graph.name = "logits", graph.dims = ["batch", "seq", "vocab"]},
    %labels: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "labels", graph.dims = ["batch", "seq"]})
    -> (tensor<f32> {graph.kind = #graph.kind<output>, graph.name = "loss"}) {
  %loss, %lse = graph.cross_entropy %logits, %labels : (tensor<4x16x512xf32>, tensor<4x16xi32>) -> (tensor<4x16xf32>, tensor<4x16xf32>)
  %sum = graph.reduce sum %loss dims = [0, 1] : (tensor<4x16xf32>) -> tensor<f32>
  return %sum : tensor<f32>
}

func.func @uneven(%logits: tensor<4x16x389xf32> {graph.kind = #graph.kind<input>, graph.name = "logits", graph.dims = ["batch", "seq", "vocab"]},
    %labels: tensor<4x16xi32> {graph.kind = #graph.kind<input>, graph.name = "labels", graph.dims = ["batch", "seq"]})
    -> (tensor<f32> {graph.kind = #graph.kind<output>, graph.name = "loss"}) {
  %loss, %lse = graph.cross_entropy %logits, %labels : (tensor<4x16x389xf32>, tensor<4x16xi32>) -> (tensor<4x16xf32>, tensor<4x16xf32>)
  %sum = graph.reduce sum %loss dims = [0, 1] : (tensor<4x16xf32>) -> tensor<f32>
  return %sum : tensor<f32>
}
