// Who may be written, and which packed forms are stale.
// RUN: llm-opt %s --split-input-file --verify-diagnostics --exec-verify-variables

graph.parameter @w : tensor<16x8xf32> variable from [#graph.source<"w", file = [16, 8]>] {exec.local = tensor<16x8xf32>, exec.pack = 1 : i64}
graph.parameter @plain : tensor<8xf32> variable from [#graph.source<"b", file = [8]>] {exec.local = tensor<8xf32>}
graph.parameter @layers : tensor<4x16x8xf32> stacked variable from [#graph.source<"l.{}", file = [16, 8]>] {exec.local = tensor<4x16x8xf32>, exec.pack = 1 : i64}
func.func @updates() attributes {exec.entry} {
  %x = exec.buffer at 0 : memref<2x8xf32>
  %y = exec.buffer at 64 : memref<2x16xf32>
  %g = exec.buffer at 192 : memref<16x8xf32>
  %b = exec.buffer at 1024 : memref<8xf32>
  %w = exec.param @w : memref<16x8xf32>
  %p = exec.param @plain : memref<8xf32>
  %l = exec.param @layers : memref<4x16x8xf32>
  exec.matmul m = 2 n = 16 k = 8 ins(%x : memref<2x8xf32>) packed @w outs(%y : memref<2x16xf32>)
  exec.copy %g to %w : memref<16x8xf32>, memref<16x8xf32>
  exec.copy %b to %p : memref<8xf32>, memref<8xf32>
  exec.pack @w
  exec.matmul m = 2 n = 16 k = 8 ins(%x : memref<2x8xf32>) packed @w outs(%y : memref<2x16xf32>)
  exec.for %i = 4 step 1 {
    %li = exec.layer %l[%i] : memref<4x16x8xf32> -> memref<16x8xf32>
    exec.copy %g to %li : memref<16x8xf32>, memref<16x8xf32>
    exec.pack @layers[%i]
    exec.matmul m = 2 n = 16 k = 8 ins(%x : memref<2x8xf32>) packed @layers[%i] outs(%y : memref<2x16xf32>)
  }
  exec.for %i = 4 step 1 {
    %li = exec.layer %l[%i] : memref<4x16x8xf32> -> memref<16x8xf32>
    exec.copy %g to %li : memref<16x8xf32>, memref<16x8xf32>
  }
  exec.pack @layers
  return
}

// -----

graph.parameter @w : tensor<16x8xf32> variable from [#graph.source<"w", file = [16, 8]>] {exec.local = tensor<16x8xf32>, exec.pack = 1 : i64}
func.func @stale() attributes {exec.entry} {
  %x = exec.buffer at 0 : memref<2x8xf32>
  %y = exec.buffer at 64 : memref<2x16xf32>
  %g = exec.buffer at 192 : memref<16x8xf32>
  %w = exec.param @w : memref<16x8xf32>
  // expected-note @+1 {{the variable is updated here}}
  exec.copy %g to %w : memref<16x8xf32>, memref<16x8xf32>
  // expected-error @+1 {{uses the packed form of @w, which is stale; exec.pack makes it again}}
  exec.matmul m = 2 n = 16 k = 8 ins(%x : memref<2x8xf32>) packed @w outs(%y : memref<2x16xf32>)
  exec.pack @w
  return
}

// -----

// The product of the second iteration reads what the first one updated.
graph.parameter @w : tensor<16x8xf32> variable from [#graph.source<"w", file = [16, 8]>] {exec.local = tensor<16x8xf32>, exec.pack = 1 : i64}
func.func @next_iteration() attributes {exec.entry} {
  %x = exec.buffer at 0 : memref<2x8xf32>
  %y = exec.buffer at 64 : memref<2x16xf32>
  %g = exec.buffer at 192 : memref<16x8xf32>
  %w = exec.param @w : memref<16x8xf32>
  exec.for %i = 2 step 1 {
    // expected-error @+1 {{uses the packed form of @w, which is stale}}
    exec.matmul m = 2 n = 16 k = 8 ins(%x : memref<2x8xf32>) packed @w outs(%y : memref<2x16xf32>)
    // expected-note @+1 {{the variable is updated here}}
    exec.copy %g to %w : memref<16x8xf32>, memref<16x8xf32>
  }
  exec.pack @w
  return
}

// -----

// One layer is packed before the next iteration, but it is not the one that was updated.
graph.parameter @layers : tensor<4x16x8xf32> stacked variable from [#graph.source<"l.{}", file = [16, 8]>] {exec.local = tensor<4x16x8xf32>, exec.pack = 1 : i64}
func.func @another_layer() attributes {exec.entry} {
  %g = exec.buffer at 192 : memref<16x8xf32>
  %l = exec.param @layers : memref<4x16x8xf32>
  exec.for %i = 4 step 1 {
    exec.pack @layers[%i]
    %li = exec.layer %l[%i] : memref<4x16x8xf32> -> memref<16x8xf32>
    // expected-error @+1 {{leaves the packed form of @layers stale at the end of the entry}}
    exec.copy %g to %li : memref<16x8xf32>, memref<16x8xf32>
  }
  return
}

// -----

// A loop that may not run packs nothing for sure.
graph.parameter @w : tensor<16x8xf32> variable from [#graph.source<"w", file = [16, 8]>] {exec.local = tensor<16x8xf32>, exec.pack = 1 : i64}
func.func @perhaps() attributes {exec.entry} {
  %g = exec.buffer at 192 : memref<16x8xf32>
  %w = exec.param @w : memref<16x8xf32>
  // expected-error @+1 {{leaves the packed form of @w stale at the end of the entry; exec.pack makes it again}}
  exec.copy %g to %w : memref<16x8xf32>, memref<16x8xf32>
  exec.for %i = call[0] in 0 to 1 step 1 {
    exec.pack @w
  }
  return
}

// -----

graph.parameter @w : tensor<16x8xf32> from [#graph.source<"w", file = [16, 8]>] {exec.local = tensor<16x8xf32>}
func.func @constant() attributes {exec.entry} {
  %g = exec.buffer at 192 : memref<16x8xf32>
  %w = exec.param @w : memref<16x8xf32>
  // expected-error @+1 {{writes parameter @w, which is no variable}}
  exec.copy %g to %w : memref<16x8xf32>, memref<16x8xf32>
  return
}

// -----

graph.parameter @w : tensor<16x8xf32> from [#graph.source<"w", file = [16, 8]>] {exec.local = tensor<16x8xf32>, exec.pack = 1 : i64}
func.func @packed_only() attributes {exec.entry} {
  // expected-error @+1 {{asks for the plain form of @w, which is held packed only}}
  %w = exec.param @w : memref<16x8xf32>
  return
}

// -----

// The second iteration packs layer 1 and reads layer 0, which the first one updated.
graph.parameter @layers : tensor<4x16x8xf32> stacked variable from [#graph.source<"l.{}", file = [16, 8]>] {exec.local = tensor<4x16x8xf32>, exec.pack = 1 : i64}
func.func @first_layer() attributes {exec.entry} {
  %x = exec.buffer at 0 : memref<2x8xf32>
  %y = exec.buffer at 64 : memref<2x16xf32>
  %g = exec.buffer at 192 : memref<16x8xf32>
  %zero = arith.constant 0 : index
  %l = exec.param @layers : memref<4x16x8xf32>
  exec.for %i = 4 step 1 {
    exec.pack @layers[%i]
    // expected-error @+1 {{uses the packed form of @layers, which is stale}}
    exec.matmul m = 2 n = 16 k = 8 ins(%x : memref<2x8xf32>) packed @layers[%zero] outs(%y : memref<2x16xf32>)
    %li = exec.layer %l[%i] : memref<4x16x8xf32> -> memref<16x8xf32>
    // expected-note @+1 {{the variable is updated here}}
    exec.copy %g to %li : memref<16x8xf32>, memref<16x8xf32>
  }
  exec.pack @layers
  return
}
