// Buffers of two branches share places: the arena holds the larger branch, not both. What a branch hands on from around it is copied there.
// RUN: llm-opt %s --split-input-file --kernels-to-exec --verify-exec-memory --exec-verify-order | FileCheck %s

// x, c, y, and two places of 64 bytes for what the first branch makes on the way; the second one needs one of them.
// CHECK: module attributes {exec.arena_bytes = 320 : i64
// CHECK-LABEL: func.func @share
// CHECK: %[[OTHER:.*]] = exec.buffer at 192 : memref<16xf32>
// CHECK: exec.buffer at 256
// CHECK: %[[TAKEN:.*]] = exec.buffer at 192 : memref<16xf32>
// CHECK: %[[N:.*]] = exec.read_flag %{{.*}} : memref<i1>
// CHECK: exec.for %{{.*}} = number(%[[N]]) in 0 to 1 step 1 {
// CHECK-NEXT: exec.launch @k {{.*}} outs(%[[TAKEN]] : memref<16xf32>)
// CHECK: exec.for %{{.*}} = number({{.*}}) in 0 to 1 step 1 {
// CHECK-NEXT: exec.launch @k {{.*}} outs(%[[OTHER]] : memref<16xf32>)
module {
func.func private @k(tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @share(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %c: tensor<i1> {graph.kind = #graph.kind<input>, graph.name = "c"})
    -> (tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %e = tensor.empty() : tensor<16xf32>
  %n = exec.read_flag %c : tensor<i1>
  %m = exec.index_offset %n, 1 reverse
  %t = exec.for %i = number(%n) in 0 to 1 step 1 carry(%h = %e : tensor<16xf32>) {
    %0 = exec.launch @k ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
    %1 = exec.launch @k ins(%0 : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
    %2 = exec.launch @k ins(%1 : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
    exec.yield %2 : tensor<16xf32>
  }
  %r = exec.for %i = number(%m) in 0 to 1 step 1 carry(%h = %t : tensor<16xf32>) {
    %0 = exec.launch @k ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
    %1 = exec.launch @k ins(%0 : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
    exec.yield %1 : tensor<16xf32>
  }
  return %r : tensor<16xf32>
}
}

// -----

// CHECK-LABEL: func.func @hand_on
// CHECK: exec.for
// CHECK-NEXT: exec.copy %[[X:.*]] to %[[Y:.*]] :
// CHECK: exec.for
// CHECK-NEXT: exec.launch @k ins(%[[X]] : memref<16xf32>) outs(%[[Y]] : memref<16xf32>)
module {
func.func private @k(tensor<16xf32>, tensor<16xf32>, index, index) -> tensor<16xf32>
func.func @hand_on(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %c: tensor<i1> {graph.kind = #graph.kind<input>, graph.name = "c"})
    -> (tensor<16xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {exec.entry} {
  %e = tensor.empty() : tensor<16xf32>
  %n = exec.read_flag %c : tensor<i1>
  %m = exec.index_offset %n, 1 reverse
  %t = exec.for %i = number(%n) in 0 to 1 step 1 carry(%h = %e : tensor<16xf32>) {
    exec.yield %x : tensor<16xf32>
  }
  %r = exec.for %i = number(%m) in 0 to 1 step 1 carry(%h = %t : tensor<16xf32>) {
    %0 = exec.launch @k ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) count = 1 grain = 1 -> tensor<16xf32>
    exec.yield %0 : tensor<16xf32>
  }
  return %r : tensor<16xf32>
}
}
