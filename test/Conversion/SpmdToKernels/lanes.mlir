// Where one row is too long for an iteration, or rows are columns, an iteration takes a part of the innermost dimension: never one element, which would leave
// all lanes of a vector but one empty and read a cache line for each word.
// RUN: llm-opt %s --split-input-file --spmd-to-kernels | FileCheck %s

// Elements of rows of 16384: halves of a quarter, the largest part whose three arrays have at most 8192 elements.
// CHECK-LABEL: func.func @long_rows
// CHECK: exec.launch @add_64x16384 ins({{.*}}) count = 512 grain =
// CHECK: func.func private @add_64x16384
// CHECK: tensor.extract_slice {{.*}} : tensor<64x16384xf32> to tensor<1x2048xf32>
func.func @long_rows(%x: tensor<64x16384xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %y: tensor<64x16384xf32> {graph.kind = #graph.kind<input>, graph.name = "y"})
    -> (tensor<64x16384xf32> {graph.kind = #graph.kind<output>, graph.name = "z"}) {
  %0 = graph.add %x, %y : (tensor<64x16384xf32>, tensor<64x16384xf32>) -> tensor<64x16384xf32>
  return %0 : tensor<64x16384xf32>
}

// -----

// 16411 is prime: whole rows.
// CHECK-LABEL: func.func @prime_rows
// CHECK: exec.launch @add_64x16411 ins({{.*}}) count = 64 grain =
func.func @prime_rows(%x: tensor<64x16411xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %y: tensor<64x16411xf32> {graph.kind = #graph.kind<input>, graph.name = "y"})
    -> (tensor<64x16411xf32> {graph.kind = #graph.kind<output>, graph.name = "z"}) {
  %0 = graph.add %x, %y : (tensor<64x16411xf32>, tensor<64x16411xf32>) -> tensor<64x16411xf32>
  return %0 : tensor<64x16411xf32>
}

// -----

// A sum over rows, as gradients of biases are: 64 columns at a time.
// CHECK-LABEL: func.func @columns
// CHECK: exec.launch @reduce_3072 ins({{.*}}) count = 48 grain = 1
// CHECK: func.func private @reduce_3072
// CHECK: tensor.extract_slice {{.*}} : tensor<1024x3072xf32> to tensor<1024x64xf32>
func.func @columns(%x: tensor<1024x3072xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<3072xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.reduce sum %x dims = [0] : (tensor<1024x3072xf32>) -> tensor<3072xf32>
  return %0 : tensor<3072xf32>
}

// -----

// A sum over each row stays one row at a time: neighbours are 768 elements apart.
// CHECK-LABEL: func.func @rows
// CHECK: exec.launch @reduce_1024 ins({{.*}}) count = 1024 grain =
func.func @rows(%x: tensor<1024x768xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<1024xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.reduce sum %x dims = [1] : (tensor<1024x768xf32>) -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}
