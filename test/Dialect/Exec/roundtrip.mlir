// Every op of dialect exec, on tensors (rung kernels) and on buffers (rung exec), is printed as it is read.
// RUN: llm-opt %s | llm-opt | FileCheck %s

dist.mesh @mesh = <["tp"=2]>
graph.parameter @norm : tensor<4x8xf32> stacked from [#graph.source<"n.{}", file = [8]>]
graph.parameter @w : tensor<4x16x8xf32> stacked from [#graph.source<"w.{}", file = [16, 8]>]
// CHECK: graph.parameter @v : tensor<4x16x8xf32> stacked variable from
graph.parameter @v : tensor<4x16x8xf32> stacked variable from [#graph.source<"v.{}", file = [16, 8]>]
graph.parameter @embed : tensor<32x8xf32> from [#graph.source<"e", file = [32, 8]>]

func.func private @scale(tensor<2x8xf32>, tensor<8xf32>, tensor<2x8xf32>, index, index, index) -> tensor<2x8xf32>
func.func private @both(memref<2x8xf32>, memref<2x8xf32>, memref<4x8xf32>, index, index, index)
func.func private @write(tensor<8xf32>, tensor<4x8xf32>, index, index) -> tensor<4x8xf32>

// CHECK-LABEL: func.func @kernels
func.func @kernels(%x: tensor<2x8xf32>, %ids: tensor<2xi32>, %cache: tensor<4x8xf32>) -> (tensor<2x16xf32>, tensor<4x8xf32>) {
  // CHECK: %[[NORM:.*]] = exec.param @norm : tensor<4x8xf32>
  %norm = exec.param @norm : tensor<4x8xf32>
  // CHECK: %[[SHARD:.*]] = exec.group_index [#dist.axis_ref<"tp">]
  %shard = exec.group_index [#dist.axis_ref<"tp">]
  %e = tensor.empty() : tensor<2x8xf32>
  // CHECK: exec.gather_packed @embed ins(%{{.*}} : tensor<2xi32>) shard %[[SHARD]] outs(%{{.*}} : tensor<2x8xf32>) -> tensor<2x8xf32>
  %g = exec.gather_packed @embed ins(%ids : tensor<2xi32>) shard %shard outs(%e : tensor<2x8xf32>) -> tensor<2x8xf32>
  // CHECK: exec.for %[[I:.*]] = 4 step 2 carry(%[[H:.*]] = %{{.*}} : tensor<2x8xf32>) {
  %h = exec.for %i = 4 step 2 carry(%c = %g : tensor<2x8xf32>) {
    // CHECK: %[[J:.*]] = exec.index_offset %[[I]], 1
    %j = exec.index_offset %i, 1
    // CHECK: exec.stack_layer %[[J]] period = 2 held = 1 before = 0
    %held = exec.stack_layer %j period = 2 held = 1 before = 0
    // CHECK: %[[ROW:.*]] = exec.layer %[[NORM]][%[[J]]] : tensor<4x8xf32> -> tensor<8xf32>
    %row = exec.layer %norm[%j] : tensor<4x8xf32> -> tensor<8xf32>
    // CHECK: exec.launch @scale ins(%[[H]], %[[ROW]] : tensor<2x8xf32>, tensor<8xf32>) outs(%{{.*}} : tensor<2x8xf32>) scalars(%[[J]]) count = 2 grain = 1 -> tensor<2x8xf32>
    %s = exec.launch @scale ins(%c, %row : tensor<2x8xf32>, tensor<8xf32>) outs(%e : tensor<2x8xf32>) scalars(%j) count = 2 grain = 1 -> tensor<2x8xf32>
    // CHECK: exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%{{.*}} : tensor<2x8xf32>) outs(%{{.*}} : tensor<2x8xf32>) {why = "down"} -> tensor<2x8xf32>
    %r = exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%s : tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) {why = "down"} -> tensor<2x8xf32>
    // CHECK: exec.yield
    exec.yield %r : tensor<2x8xf32>
  }
  %e2 = tensor.empty() : tensor<2x16xf32>
  %zero = arith.constant 0 : index
  // CHECK: exec.matmul m = 2 n = 16 k = 8 ins(%{{.*}} : tensor<2x8xf32>) packed @w[%{{.*}}] outs(%{{.*}} : tensor<2x16xf32>) -> tensor<2x16xf32>
  %y = exec.matmul m = 2 n = 16 k = 8 ins(%h : tensor<2x8xf32>) packed @w[%zero] outs(%e2 : tensor<2x16xf32>) -> tensor<2x16xf32>
  // CHECK: exec.matmul m = 2 n = 4 k = 8 ins(%{{.*}} : tensor<2x8xf32>) packed @w[%{{.*}}] starts(%{{.*}} : tensor<5xi32>) outs(%{{.*}} : tensor<2x4xf32>) -> tensor<2x4xf32>
  %starts = tensor.empty() : tensor<5xi32>
  %e4 = tensor.empty() : tensor<2x4xf32>
  %grouped = exec.matmul m = 2 n = 4 k = 8 ins(%h : tensor<2x8xf32>) packed @w[%zero] starts(%starts : tensor<5xi32>) outs(%e4 : tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: exec.matmul m = 2 n = 16 k = 8 ins(%{{.*}} : tensor<2x8xf32>) packed @w[%{{.*}}] addend(%{{.*}} : tensor<2x16xf32>) outs(%{{.*}} : tensor<2x16xf32>) -> tensor<2x16xf32>
  %sum = exec.matmul m = 2 n = 16 k = 8 ins(%h : tensor<2x8xf32>) packed @w[%zero] addend(%y : tensor<2x16xf32>) outs(%e2 : tensor<2x16xf32>) -> tensor<2x16xf32>
  // CHECK: exec.reshape %{{.*}} : tensor<2x8xf32> -> tensor<8xf32>
  %flat = exec.reshape %h : tensor<2x8xf32> -> tensor<8xf32>
  // CHECK: exec.launch @write ins(%{{.*}} : tensor<8xf32>) outs(%{{.*}} : tensor<4x8xf32>) count = 1 grain = 1 -> tensor<4x8xf32>
  %next = exec.launch @write ins(%flat : tensor<8xf32>) outs(%cache : tensor<4x8xf32>) count = 1 grain = 1 -> tensor<4x8xf32>
  return %y, %next : tensor<2x16xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @exec
func.func @exec() {
  // CHECK: exec.buffer at 128 : memref<2x8xf32>
  %a = exec.buffer at 128 : memref<2x8xf32>
  %b = exec.buffer at 192 : memref<2x8xf32>
  %w = exec.buffer at 256 : memref<16x8xf32>
  %y = exec.buffer at 1024 : memref<2x16xf32>
  // CHECK: exec.for %{{.*}} = 3 step 1 {
  exec.for %i = 3 step 1 {
    // CHECK: exec.copy %{{.*}} to %{{.*}} : memref<2x8xf32>, memref<2x8xf32>
    exec.copy %a to %b : memref<2x8xf32>, memref<2x8xf32>
  }
  // CHECK: exec.pack @v
  exec.pack @v
  // CHECK: exec.for %[[I:.*]] = call[1] in 0 to 3 step 2 {
  exec.for %i = call[1] in 0 to 3 step 2 {
    // CHECK: exec.pack @v[%[[I]]]
    exec.pack @v[%i]
    exec.copy %a to %b : memref<2x8xf32>, memref<2x8xf32>
  }
  // CHECK: exec.launch @both ins(%{{.*}} : memref<2x8xf32>) outs(%{{.*}}, %{{.*}} : memref<2x8xf32>, memref<4x8xf32>) scalars(%{{.*}}) count = 2 grain = 1 modes(update, layer)
  %two = arith.constant 2 : index
  %stack = exec.buffer at 2048 : memref<4x8xf32>
  exec.launch @both ins(%a : memref<2x8xf32>) outs(%b, %stack : memref<2x8xf32>, memref<4x8xf32>) scalars(%two) count = 2 grain = 1 modes(update, layer)
  // CHECK: exec.matmul m = 2 n = 16 k = 8 ins(%{{.*}}, %{{.*}} : memref<2x8xf32>, memref<16x8xf32>) outs(%{{.*}} : memref<2x16xf32>)
  exec.matmul m = 2 n = 16 k = 8 ins(%b, %w : memref<2x8xf32>, memref<16x8xf32>) outs(%y : memref<2x16xf32>)
  // CHECK: exec.matmul m = 2 n = 16 k = 8 ins(%{{.*}}, %{{.*}} : memref<2x8xf32>, memref<16x8xf32>) bias(%{{.*}} : memref<16xf32>) function relu outs(%{{.*}} : memref<2x16xf32>)
  %bias = exec.buffer at 3072 : memref<16xf32>
  exec.matmul m = 2 n = 16 k = 8 ins(%b, %w : memref<2x8xf32>, memref<16x8xf32>) bias(%bias : memref<16xf32>) function relu outs(%y : memref<2x16xf32>)
  // CHECK: exec.collective collective_permute none over [#dist.axis_ref<"tp">] {{.*}} {mirrored = [#dist.axis_ref<"tp">]}
  exec.collective collective_permute none over [#dist.axis_ref<"tp">] ins(%a : memref<2x8xf32>) outs(%b : memref<2x8xf32>) {mirrored = [#dist.axis_ref<"tp">]}
  // CHECK: %[[TOKEN:.*]] = exec.collective_start reduce_scatter max over [#dist.axis_ref<"tp">] ins(%{{.*}} : memref<16x8xf32>) outs(%{{.*}} : memref<8x8xf32>) {why = "w"}
  %out = exec.buffer at 2048 : memref<8x8xf32>
  %t = exec.collective_start reduce_scatter max over [#dist.axis_ref<"tp">] ins(%w : memref<16x8xf32>) outs(%out : memref<8x8xf32>) {why = "w"}
  exec.copy %a to %b : memref<2x8xf32>, memref<2x8xf32>
  // CHECK: exec.wait %[[TOKEN]]
  exec.wait %t
  %self = exec.group_index [#dist.axis_ref<"tp">]
  %other = exec.index_offset %self, 1 reverse
  // CHECK: %[[SENT:.*]] = exec.send %{{.*}} to %{{.*}} over [#dist.axis_ref<"tp">] tag 7 : memref<2x8xf32>
  %s = exec.send %a to %other over [#dist.axis_ref<"tp">] tag 7 : memref<2x8xf32>
  // CHECK: %[[CAME:.*]] = exec.receive %{{.*}} from %{{.*}} over [#dist.axis_ref<"tp">] tag 7 : memref<2x8xf32>
  %r = exec.receive %b from %other over [#dist.axis_ref<"tp">] tag 7 : memref<2x8xf32>
  // CHECK: exec.wait %[[CAME]]
  // CHECK: exec.wait %[[SENT]]
  exec.wait %r
  exec.wait %s
  return
}

// A kernel may see an array in another shape: all of it, row-major.
func.func private @in_pairs(tensor<2x4xf32>, tensor<2x2x2xf32>, index, index) -> tensor<2x2x2xf32>
// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<8xf32>) -> tensor<2x4xf32> {
  %e = tensor.empty() : tensor<2x4xf32>
  // CHECK: exec.launch @in_pairs ins(%{{.*}} : tensor<8xf32>) outs(%{{.*}} : tensor<2x4xf32>) count = 2 grain = 1 -> tensor<2x4xf32>
  %y = exec.launch @in_pairs ins(%x : tensor<8xf32>) outs(%e : tensor<2x4xf32>) count = 2 grain = 1 -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
