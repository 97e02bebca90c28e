// RUN: llm-opt %s --kernels-to-exec --verify-exec-memory | FileCheck %s --implicit-check-not=@fold

// A launch that `copies` into a layer is gone where its input can be made there; so is its kernel if no launch is left.
func.func private @twice(%x: tensor<8xf32>, %y: tensor<8xf32>, %b: index, %e: index) -> tensor<8xf32> attributes {tessera.kernel} { return %y : tensor<8xf32> }
func.func private @place(%x: tensor<8xf32>, %s: tensor<4x8xf32>, %i: index, %b: index, %e: index) -> tensor<4x8xf32> attributes {tessera.kernel} { return %s : tensor<4x8xf32> }
func.func private @only(%x: tensor<8xf32>, %s: tensor<1x8xf32>, %i: index, %b: index, %e: index) -> tensor<1x8xf32> attributes {tessera.kernel} { return %s : tensor<1x8xf32> }
func.func private @fold(%x: tensor<2x4xf32>, %s: tensor<4x8xf32>, %i: index, %b: index, %e: index) -> tensor<4x8xf32> attributes {tessera.kernel} { return %s : tensor<4x8xf32> }
func.func private @shape(%x: tensor<8xf32>, %y: tensor<2x4xf32>, %b: index, %e: index) -> tensor<2x4xf32> attributes {tessera.kernel} { return %y : tensor<2x4xf32> }

// Made as another shape, and read once more after it stands there. What the loop is given has its place already.
// CHECK-LABEL: func.func @made
// CHECK: exec.for %[[I:.*]] = 4
// CHECK-NEXT: exec.launch @place ins(%[[X:[0-9]+]] : memref<8xf32>) outs(%[[GIVEN:[0-9]+]] : memref<4x8xf32>) scalars(%[[I]]) count = 1 grain = 1 modes(layer){{$}}
// CHECK-NEXT: %[[LAYER:.*]] = exec.layer %[[STACK:[0-9]+]][%[[I]]] : memref<4x8xf32> -> memref<8xf32>
// CHECK-NEXT: %[[SHAPED:.*]] = exec.reshape %[[LAYER]] : memref<8xf32> -> memref<2x4xf32>
// CHECK-NEXT: exec.launch @shape ins(%[[X]] : memref<8xf32>) outs(%[[SHAPED]] : memref<2x4xf32>)
// CHECK-NEXT: exec.reshape %[[SHAPED]]
// CHECK-NEXT: exec.launch @twice ins(%{{[0-9]+}} : memref<8xf32>) outs(%[[X]] : memref<8xf32>)
// CHECK-NEXT: }
func.func @made(%x: tensor<8xf32> {graph.kind = #graph.kind<state>, graph.name = "x"})
    -> (tensor<8xf32> {graph.kind = #graph.kind<state>, graph.name = "x"}, tensor<4x8xf32> {graph.kind = #graph.kind<output>, graph.name = "a"},
        tensor<4x8xf32> {graph.kind = #graph.kind<output>, graph.name = "b"}) attributes {exec.entry} {
  %s0 = tensor.empty() : tensor<4x8xf32>
  %t0 = tensor.empty() : tensor<4x8xf32>
  %r:3 = exec.for %i = 4 step 1 carry(%h = %x : tensor<8xf32>, %s = %s0 : tensor<4x8xf32>, %t = %t0 : tensor<4x8xf32>) {
    %given = exec.launch @place ins(%h : tensor<8xf32>) outs(%t : tensor<4x8xf32>) scalars(%i) count = 1 grain = 1 modes(layer) copies -> tensor<4x8xf32>
    %e = tensor.empty() : tensor<2x4xf32>
    %m = exec.launch @shape ins(%h : tensor<8xf32>) outs(%e : tensor<2x4xf32>) count = 1 grain = 1 -> tensor<2x4xf32>
    %v = exec.reshape %m : tensor<2x4xf32> -> tensor<8xf32>
    %n = exec.launch @place ins(%v : tensor<8xf32>) outs(%s : tensor<4x8xf32>) scalars(%i) count = 1 grain = 1 modes(layer) copies -> tensor<4x8xf32>
    %f = tensor.empty() : tensor<8xf32>
    %next = exec.launch @twice ins(%v : tensor<8xf32>) outs(%f : tensor<8xf32>) count = 1 grain = 1 -> tensor<8xf32>
    exec.yield %next, %n, %given : tensor<8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// Where the stack is read in between, or by the kernel that makes the layer, the layer is made apart: it would be overwritten too early. A product may add to it.
// CHECK-LABEL: func.func @read
// CHECK: exec.for
// CHECK: exec.launch @twice ins(%[[A:[0-9]+]] : memref<8xf32>) outs(%[[APART:[0-9]+]] : memref<8xf32>)
// CHECK: exec.launch @place ins(%[[APART]]
// CHECK: exec.for
// CHECK: exec.launch @twice ins(%{{[0-9]+}} : memref<8xf32>) outs(%[[AGAIN:[0-9]+]] : memref<8xf32>)
// CHECK: exec.matmul
// CHECK: exec.launch @place ins(%[[AGAIN]]
// CHECK: exec.for
// CHECK: exec.matmul
// CHECK-SAME: addend(%{{[0-9]+}} : memref<8xf32>)
// CHECK-NOT: exec.launch
// CHECK: return
func.func @read(%s0: tensor<4x8xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}, %w: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "w"},
    %x: tensor<8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<4x8xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) attributes {exec.entry} {
  %r = exec.for %i = 4 step 1 carry(%s = %s0 : tensor<4x8xf32>) {
    %old = exec.layer %s[%i] : tensor<4x8xf32> -> tensor<8xf32>
    %e = tensor.empty() : tensor<8xf32>
    %m = exec.launch @twice ins(%old : tensor<8xf32>) outs(%e : tensor<8xf32>) count = 1 grain = 1 -> tensor<8xf32>
    %n = exec.launch @place ins(%m : tensor<8xf32>) outs(%s : tensor<4x8xf32>) scalars(%i) count = 1 grain = 1 modes(layer) copies -> tensor<4x8xf32>
    exec.yield %n : tensor<4x8xf32>
  }
  %first = arith.constant 0 : index
  %q = exec.for %i = 4 step 1 carry(%s = %r : tensor<4x8xf32>) {
    %e = tensor.empty() : tensor<8xf32>
    %m = exec.launch @twice ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) count = 1 grain = 1 -> tensor<8xf32>
    %other = exec.layer %s[%first] : tensor<4x8xf32> -> tensor<8xf32>
    %f = tensor.empty() : tensor<8xf32>
    %y = exec.matmul m = 1 n = 8 k = 8 ins(%other, %w : tensor<8xf32>, tensor<8x8xf32>) addend(%m : tensor<8xf32>) outs(%f : tensor<8xf32>) -> tensor<8xf32>
    %n = exec.launch @place ins(%m : tensor<8xf32>) outs(%s : tensor<4x8xf32>) scalars(%i) count = 1 grain = 1 modes(layer) copies -> tensor<4x8xf32>
    exec.yield %n : tensor<4x8xf32>
  }
  %p = exec.for %i = 4 step 1 carry(%s = %q : tensor<4x8xf32>) {
    %old = exec.layer %s[%i] : tensor<4x8xf32> -> tensor<8xf32>
    %e = tensor.empty() : tensor<8xf32>
    %m = exec.matmul m = 1 n = 8 k = 8 ins(%x, %w : tensor<8xf32>, tensor<8x8xf32>) addend(%old : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %v = exec.reshape %m : tensor<8xf32> -> tensor<2x4xf32>
    %n = exec.launch @fold ins(%v : tensor<2x4xf32>) outs(%s : tensor<4x8xf32>) scalars(%i) count = 1 grain = 1 modes(layer) copies -> tensor<4x8xf32>
    exec.yield %n : tensor<4x8xf32>
  }
  return %p : tensor<4x8xf32>
}

// Nobody reads the stack, but its layer is read late: what comes between lies elsewhere (--verify-exec-memory would say so).
// CHECK-LABEL: func.func @unread
// CHECK: %[[STACK:[0-9]+]] = exec.buffer at {{[0-9]+}} : memref<4x8xf32>
// CHECK: %[[LAYER:.*]] = exec.layer %[[STACK]]
// CHECK-NEXT: exec.launch @twice ins(%[[X:[0-9]+]] : memref<8xf32>) outs(%[[LAYER]] : memref<8xf32>)
// CHECK-NEXT: exec.launch @twice ins(%[[X]] : memref<8xf32>) outs(%[[BETWEEN:[0-9]+]] : memref<8xf32>)
// CHECK-NEXT: exec.launch @twice ins(%[[LAYER]] : memref<8xf32>)
// CHECK-NEXT: exec.launch @twice ins(%[[BETWEEN]] : memref<8xf32>)
func.func @unread(%x: tensor<8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<8xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}, tensor<8xf32> {graph.kind = #graph.kind<output>, graph.name = "b"}) attributes {exec.entry} {
  %zero = arith.constant 0 : index
  %s = tensor.empty() : tensor<4x8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %m = exec.launch @twice ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) count = 1 grain = 1 -> tensor<8xf32>
  %n = exec.launch @place ins(%m : tensor<8xf32>) outs(%s : tensor<4x8xf32>) scalars(%zero) count = 1 grain = 1 modes(layer) copies -> tensor<4x8xf32>
  %f = tensor.empty() : tensor<8xf32>
  %between = exec.launch @twice ins(%x : tensor<8xf32>) outs(%f : tensor<8xf32>) count = 1 grain = 1 -> tensor<8xf32>
  %g = tensor.empty() : tensor<8xf32>
  %late = exec.launch @twice ins(%m : tensor<8xf32>) outs(%g : tensor<8xf32>) count = 1 grain = 1 -> tensor<8xf32>
  %h = tensor.empty() : tensor<8xf32>
  %last = exec.launch @twice ins(%between : tensor<8xf32>) outs(%h : tensor<8xf32>) count = 1 grain = 1 -> tensor<8xf32>
  return %last, %late : tensor<8xf32>, tensor<8xf32>
}

// A layer is made twice, and what was there first is read late: it is made apart.
// CHECK-LABEL: func.func @twice_made
// CHECK: exec.launch @twice ins(%[[X:[0-9]+]] : memref<8xf32>) outs(%[[APART:[0-9]+]] : memref<8xf32>)
// CHECK: exec.launch @twice ins(%[[APART]] : memref<8xf32>)
func.func @twice_made(%x: tensor<8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<8xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}, tensor<1x8xf32> {graph.kind = #graph.kind<output>, graph.name = "b"}) attributes {exec.entry} {
  %zero = arith.constant 0 : index
  %s = tensor.empty() : tensor<1x8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %m = exec.launch @twice ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) count = 1 grain = 1 -> tensor<8xf32>
  %n = exec.launch @only ins(%m : tensor<8xf32>) outs(%s : tensor<1x8xf32>) scalars(%zero) count = 1 grain = 1 modes(layer) copies -> tensor<1x8xf32>
  %f = tensor.empty() : tensor<8xf32>
  %k = exec.launch @twice ins(%x : tensor<8xf32>) outs(%f : tensor<8xf32>) count = 1 grain = 1 -> tensor<8xf32>
  %g = tensor.empty() : tensor<8xf32>
  %o = exec.launch @only ins(%k : tensor<8xf32>) outs(%n : tensor<1x8xf32>) scalars(%zero) count = 1 grain = 1 modes(layer) copies -> tensor<1x8xf32>
  %late = exec.launch @twice ins(%m : tensor<8xf32>) outs(%g : tensor<8xf32>) count = 1 grain = 1 -> tensor<8xf32>
  return %late, %o : tensor<8xf32>, tensor<1x8xf32>
}
