// RUN: llm-opt %s --tessera-to-exec | FileCheck %s
// RUN: llm-judge %s --rung=exec
// RUN: llm-judge %s --rung=binary --runner=%build/bin/run-program-checked

// The next value of what a loop carries is made where the old one lies if each element comes from the one in its place. What a transposition, a
// shift or a sum over rows reads would have been overwritten: those read the old value.

// CHECK-LABEL: func.func @same()
// CHECK: exec.for
// CHECK-NEXT: exec.launch @silu{{[^ ]*}} outs(%[[H:[0-9]+]] : memref<64x64xf32>) count = 1 grain = 1 modes(update)
// CHECK-NEXT: }
func.func @same(%x: tensor<64x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<64x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %r = graph.repeat 3 carry(%x : tensor<64x64xf32>) -> (tensor<64x64xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<64x64xf32>):
    %n = graph.silu %h : tensor<64x64xf32>
    graph.yield %n : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @columns()
// CHECK: exec.for
// CHECK-NEXT: exec.launch @reduce_broadcast{{[^ ]*}} ins(%[[H:[0-9]+]] :
// CHECK-NEXT: exec.launch @sub{{[^ ]*}} ins(%{{[0-9]+}} : memref<64x64xf32>) outs(%[[H]] : memref<64x64xf32>) count = 64 grain = {{.*}} modes(update)
// CHECK-NEXT: }
func.func @columns(%x: tensor<64x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<64x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %r = graph.repeat 3 carry(%x : tensor<64x64xf32>) -> (tensor<64x64xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<64x64xf32>):
    %s = graph.reduce sum %h dims = [0] : (tensor<64x64xf32>) -> tensor<64xf32>
    %b = graph.broadcast %s dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
    %n = graph.sub %h, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    graph.yield %n : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @softmax()
// CHECK: exec.for
// CHECK-NEXT: exec.launch @softmax{{[^ ]*}} ins(%[[H:[0-9]+]] : memref<64x64xf32>) outs({{.*}} modes(write)
// CHECK-NEXT: exec.copy %{{[0-9]+}} to %[[H]]
func.func @softmax(%x: tensor<64x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<64x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %r = graph.repeat 3 carry(%x : tensor<64x64xf32>) -> (tensor<64x64xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<64x64xf32>):
    %n = graph.softmax %h : tensor<64x64xf32>
    graph.yield %n : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @transposed()
// CHECK: exec.for
// CHECK-NEXT: exec.launch @transpose_silu{{[^ ]*}} ins(%[[H:[0-9]+]] : memref<64x64xf32>) outs({{.*}} modes(write)
// CHECK-NEXT: exec.copy %{{[0-9]+}} to %[[H]]
func.func @transposed(%x: tensor<64x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<64x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %r = graph.repeat 3 carry(%x : tensor<64x64xf32>) -> (tensor<64x64xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<64x64xf32>):
    %t = graph.transpose %h [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %n = graph.silu %t : tensor<64x64xf32>
    graph.yield %n : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @with_transposed()
// CHECK: exec.for
// CHECK-NEXT: exec.launch @transpose_sub{{[^ ]*}} ins(%[[H:[0-9]+]] : memref<8x8xf32>) outs({{.*}} modes(write)
// CHECK-NEXT: exec.copy %{{[0-9]+}} to %[[H]]
func.func @with_transposed(%x: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %r = graph.repeat 3 carry(%x : tensor<8x8xf32>) -> (tensor<8x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8x8xf32>):
    %t = graph.transpose %h [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %n = graph.sub %t, %h : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    graph.yield %n : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @reversed()
// CHECK: exec.for
// CHECK-NEXT: exec.launch @reverse_silu{{[^ ]*}} ins(%[[H:[0-9]+]] :
// CHECK-NEXT: exec.copy %{{[0-9]+}} to %[[H]]
func.func @reversed(%x: tensor<64x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<64x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %r = graph.repeat 3 carry(%x : tensor<64x64xf32>) -> (tensor<64x64xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<64x64xf32>):
    %t = graph.reverse %h dim = 1 : tensor<64x64xf32>
    %n = graph.silu %t : tensor<64x64xf32>
    graph.yield %n : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @shifted()
// CHECK: exec.for
// CHECK-NEXT: exec.launch @slice_concat{{[^ ]*}} ins(%[[H:[0-9]+]] :
// CHECK-NEXT: exec.copy %{{[0-9]+}} to %[[H]]
func.func @shifted(%x: tensor<64xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %r = graph.repeat 3 carry(%x : tensor<64xf32>) -> (tensor<64xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<64xf32>):
    %a = graph.slice %h at [1] : (tensor<64xf32>) -> tensor<63xf32>
    %b = graph.slice %h at [0] : (tensor<64xf32>) -> tensor<1xf32>
    %n = graph.concat %a, %b dim = 0 : (tensor<63xf32>, tensor<1xf32>) -> tensor<64xf32>
    graph.yield %n : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}

// Two values in one kernel, the second one of the first.
// CHECK-LABEL: func.func @through()
// CHECK: exec.for
// CHECK-NEXT: exec.launch @silu_mul_sub{{[^ ]*}} outs(%{{[0-9]+}}, %{{[0-9]+}} : memref<64xf32>, memref<64xf32>) count = 1 grain = 1 modes(update, update)
// CHECK-NEXT: }
func.func @through(%x: tensor<64xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %z: tensor<64xf32> {graph.kind = #graph.kind<input>, graph.name = "z"}) -> (tensor<64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<64xf32> {graph.kind = #graph.kind<output>, graph.name = "w"}) {
  %r:2 = graph.repeat 3 carry(%x, %z : tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%i: tensor<i32>, %g: tensor<64xf32>, %h: tensor<64xf32>):
    %m = graph.silu %g : tensor<64xf32>
    %k = graph.mul %m, %g : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %n = graph.sub %k, %h : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    graph.yield %m, %n : tensor<64xf32>, tensor<64xf32>
  }
  return %r#0, %r#1 : tensor<64xf32>, tensor<64xf32>
}
