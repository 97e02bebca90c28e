// cuBLASLt multiplies numbers of one type, into the same or float32; operands of other mixtures are widened and the result is rounded once.
// RUN: llm-opt %s --spmd-to-kernels=target=cuda | FileCheck %s

// CHECK-LABEL: func.func @same
// CHECK: exec.matmul {{.*}} ins(%{{.*}}, %{{.*}} : tensor<9x8xbf16>, tensor<4x8xbf16>) outs(%{{.*}} : tensor<9x4xf32>)
// CHECK-NOT: exec.launch
func.func @same(%x: tensor<9x8xbf16> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<4x8xbf16> {graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<9x4xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.linear %x, %w contract = 1 : (tensor<9x8xbf16>, tensor<4x8xbf16>) -> tensor<9x4xf32>
  return %y : tensor<9x4xf32>
}

// CHECK-LABEL: func.func @mixed
// CHECK-COUNT-2: exec.launch @cast
// CHECK: exec.matmul {{.*}} ins(%{{.*}}, %{{.*}} : tensor<9x8xf32>, tensor<4x8xf32>) outs(%{{.*}} : tensor<9x4xf32>)
// CHECK: exec.launch @cast
func.func @mixed(%x: tensor<9x8xf16> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<4x8xbf16> {graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<9x4xf16> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.linear %x, %w contract = 1 : (tensor<9x8xf16>, tensor<4x8xbf16>) -> tensor<9x4xf16>
  return %y : tensor<9x4xf16>
}

// As many rows as a block reads a weight for: a tile.
// CHECK-LABEL: func.func @few
// CHECK-NOT: exec.matmul
// CHECK: exec.launch @linear
func.func @few(%x: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<8x4xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.linear %x, %w contract = 1 : (tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// Of 16 bits eight rows are the library's: a tile would take longer to multiply than to read.
// CHECK-LABEL: func.func @tensor_cores
// CHECK: exec.matmul {{.*}} ins(%{{.*}}, %{{.*}} : tensor<3x8xbf16>, tensor<4x8xbf16>)
// CHECK-NOT: exec.launch
func.func @tensor_cores(%x: tensor<3x8xbf16> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<4x8xbf16> {graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<3x4xbf16> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.linear %x, %w contract = 1 : (tensor<3x8xbf16>, tensor<4x8xbf16>) -> tensor<3x4xbf16>
  return %y : tensor<3x4xbf16>
}

// CHECK-LABEL: func.func @few_of_16_bits
// CHECK-NOT: exec.matmul
// CHECK: exec.launch @linear
func.func @few_of_16_bits(%x: tensor<2x8xbf16> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<4x8xbf16> {graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<2x4xbf16> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.linear %x, %w contract = 1 : (tensor<2x8xbf16>, tensor<4x8xbf16>) -> tensor<2x4xbf16>
  return %y : tensor<2x4xbf16>
}

// Operands of one narrow type, a result of the other: float32 in between.
// CHECK-LABEL: func.func @between
// CHECK: exec.matmul {{.*}} ins(%{{.*}}, %{{.*}} : tensor<9x8xbf16>, tensor<4x8xbf16>) outs(%{{.*}} : tensor<9x4xf32>)
// CHECK: exec.launch @cast
func.func @between(%x: tensor<9x8xbf16> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<4x8xbf16> {graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<9x4xf16> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %y = graph.linear %x, %w contract = 1 : (tensor<9x8xbf16>, tensor<4x8xbf16>) -> tensor<9x4xf16>
  return %y : tensor<9x4xf16>
}
