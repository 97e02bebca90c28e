// RUN: not llm-opt %s --graph-set-precision="compute=f32" --split-input-file 2>&1 | FileCheck %s --check-prefix=F32
// RUN: not llm-opt %s --graph-set-precision="compute=bf16 gradients=f16" --split-input-file 2>&1 | FileCheck %s --check-prefix=GRADIENTS
// RUN: llm-opt %s --graph-set-precision --split-input-file --verify-diagnostics

// F32: cannot be computed in f32; expected bf16 or f16
// GRADIENTS: cannot have gradients in f16; expected f32 or bf16
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.neg %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{has no function @forward of one block}}
module {}

// -----

// expected-error @+1 {{is written in 'tensor<4xbf16>': the types that a program is computed in are chosen for one in f32}}
func.func @forward(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  return %x : tensor<4xbf16>
}

// -----

func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has graph.gradient = bf16; it is the float type of the gradient of a graph.cast}}
  %0 = graph.neg %x {graph.gradient = bf16} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @terms(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has graph.terms = bf16; it is the float type of the op's one result}}
  %0 = graph.neg %x {graph.terms = bf16} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
