// T10 and its kin: norms over a hidden dimension that is sharded. One sum per token travels (of squares; of values, then of squares), or a maximum
// and a sum for softmax; the tensor never does.
// RUN: llm-opt %s --tessera-shard="mesh=dp=2,tp=4 shard=hidden=tp" | FileCheck %s


// CHECK-LABEL: func.func @rms_norm
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: graph.reduce sum
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {why = "rms_norm reduces over hidden, sharded over {tp}; {{.*}} needs the sum"} : tensor<2x512x
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: return
func.func @rms_norm(%x: tensor<4x512x1024xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %g: tensor<1024xf32> {graph.kind = #graph.kind<parameter>, graph.name = "g", graph.dims = ["hidden"]})
    -> (tensor<4x512x1024xf32> {graph.kind = #graph.kind<output>, graph.name = "rms_norm"}) {
  %n = graph.rms_norm %x, %g eps = 1.000000e-05 : (tensor<4x512x1024xf32>, tensor<1024xf32>) -> tensor<4x512x1024xf32>
  %y = graph.name %n "y" ["batch", "seq", "hidden"] : tensor<4x512x1024xf32>
  return %y : tensor<4x512x1024xf32>
}

// CHECK-LABEL: func.func @layer_norm
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {why = "layer_norm reduces over hidden, sharded over {tp}; {{.*}} needs the sum"} : tensor<2x512x
// CHECK: graph.sub
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {why = "layer_norm reduces over hidden, sharded over {tp}; {{.*}} needs the sum"} : tensor<2x512x
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: return
func.func @layer_norm(%x: tensor<4x512x1024xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %w: tensor<1024xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["hidden"]},
    %b: tensor<1024xf32> {graph.kind = #graph.kind<parameter>, graph.name = "b", graph.dims = ["hidden"]})
    -> (tensor<4x512x1024xf32> {graph.kind = #graph.kind<output>, graph.name = "layer_norm"}) {
  %n = graph.layer_norm %x, %w, %b eps = 1.000000e-05 : (tensor<4x512x1024xf32>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<4x512x1024xf32>
  %y = graph.name %n "y" ["batch", "seq", "hidden"] : tensor<4x512x1024xf32>
  return %y : tensor<4x512x1024xf32>
}

// CHECK-LABEL: func.func @softmax
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: graph.reduce max
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {why = "softmax reduces over hidden, sharded over {tp}; {{.*}} needs the maximum"} : tensor<2x512x
// CHECK: graph.exp
// CHECK: graph.reduce sum
// CHECK: dist.all_reduce %{{.*}} axes = {"tp"} {why = "softmax reduces over hidden, sharded over {tp}; {{.*}} needs the sum"} : tensor<2x512x
// CHECK-NOT: dist.{{all|reduce|coll}}
// CHECK: return
func.func @softmax(%x: tensor<4x512x1024xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]})
    -> (tensor<4x512x1024xf32> {graph.kind = #graph.kind<output>, graph.name = "softmax"}) {
  %n = graph.softmax %x : tensor<4x512x1024xf32>
  %y = graph.name %n "y" ["batch", "seq", "hidden"] : tensor<4x512x1024xf32>
  return %y : tensor<4x512x1024xf32>
}
