// RUN: llm-opt %s --split-input-file --verify-diagnostics

func.func @below_zero() {
  %a = exec.buffer at 0 : memref<8xf32>
  %b = exec.buffer at 64 : memref<8xf32>
  // expected-error @+1 {{is given to stream -1; they begin at 0}}
  exec.copy %a to %b stream -1 : memref<8xf32>, memref<8xf32>
  return
}

// -----

// expected-error @+1 {{names event -2; they begin at 0}}
exec.event_record -2

// -----

// expected-error @+1 {{names event -1; they begin at 0}}
exec.event_wait -1 stream 1

// -----

graph.parameter @w : tensor<16x8xf32> from [#graph.source<"w", file = [16, 8]>]
func.func @on_tensors(%x: tensor<2x8xf32>, %e: tensor<2x16xf32>) {
  // expected-error @+1 {{is given to a stream, but stands on rung kernels: streams are assigned on rung exec}}
  %y = exec.matmul m = 2 n = 16 k = 8 ins(%x : tensor<2x8xf32>) packed @w outs(%e : tensor<2x16xf32>) stream 1 -> tensor<2x16xf32>
  return
}
