// RUN: llm-opt %s --tessera-to-kernels | FileCheck %s
// RUN: llm-opt %s --tessera-to-kernels=target=cuda | FileCheck %s

// An einsum is a product of matrices where rows, columns and what is summed over each stand together and in one order; the result may name the right side first.
// CHECK-LABEL: func.func @einsums
// CHECK: exec.matmul m = 12 n = 30 k = 32 ins(%{{[a-z0-9]+}}, %{{[a-z0-9]+}} transposed : tensor<12x4x8xf32>, tensor<4x8x5x6xf32>)
// CHECK: exec.matmul m = 30 n = 12 k = 32 ins(%{{[a-z0-9]+}} transposed, %{{[a-z0-9]+}} : tensor<4x8x5x6xf32>, tensor<12x4x8xf32>)
// CHECK-NOT: exec.matmul
// CHECK: return
func.func @einsums(%a: tensor<12x4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "a"}, %b: tensor<4x8x5x6xf32> {graph.kind = #graph.kind<input>, graph.name = "b"},
    %c: tensor<8x4x30xf32> {graph.kind = #graph.kind<input>, graph.name = "c"}, %d: tensor<12x8xf32> {graph.kind = #graph.kind<input>, graph.name = "d"})
    -> (tensor<12x5x6xf32> {graph.kind = #graph.kind<output>, graph.name = "p"}, tensor<5x6x12xf32> {graph.kind = #graph.kind<output>, graph.name = "q"},
        tensor<12x30xf32> {graph.kind = #graph.kind<output>, graph.name = "order"}, tensor<12x8x30xf32> {graph.kind = #graph.kind<output>, graph.name = "batch"},
        tensor<12x4xf32> {graph.kind = #graph.kind<output>, graph.name = "column"}) {
  %p = graph.einsum "mkl,klno->mno" %a, %b : (tensor<12x4x8xf32>, tensor<4x8x5x6xf32>) -> tensor<12x5x6xf32>
  %q = graph.einsum "mkl,klno->nom" %a, %b : (tensor<12x4x8xf32>, tensor<4x8x5x6xf32>) -> tensor<5x6x12xf32>
  // Summed over in two orders; over a batch; without columns.
  %order = graph.einsum "mkl,lkn->mn" %a, %c : (tensor<12x4x8xf32>, tensor<8x4x30xf32>) -> tensor<12x30xf32>
  %batch = graph.einsum "mkl,lkn->mln" %a, %c : (tensor<12x4x8xf32>, tensor<8x4x30xf32>) -> tensor<12x8x30xf32>
  %column = graph.einsum "mkl,ml->mk" %a, %d : (tensor<12x4x8xf32>, tensor<12x8xf32>) -> tensor<12x4xf32>
  return %p, %q, %order, %batch, %column : tensor<12x5x6xf32>, tensor<5x6x12xf32>, tensor<12x30xf32>, tensor<12x8x30xf32>, tensor<12x4xf32>
}

// A transposition that only says how an operand lies is read through, also a layer of a variable and where heads come last; what it gives is made for others alone.
// CHECK-LABEL: func.func @transposed
// CHECK: %[[STACK:.*]] = exec.param @w : tensor<3x48x40xf32>
// CHECK: %[[W:.*]] = exec.layer %[[STACK]]
// CHECK: %[[FOLDED:.*]] = exec.reshape %[[W]]
// CHECK: exec.matmul m = 16 n = 40 k = 48 ins(%arg0 transposed, %[[FOLDED]] transposed : tensor<6x8x16xf32>, tensor<6x8x40xf32>)
// CHECK-NOT: transpose_
// CHECK: %[[APART:.*]] = exec.launch @transpose_
// CHECK: %[[ROWS:.*]] = exec.reshape %[[APART]]
// CHECK: exec.matmul m = 16 n = 40 k = 48 ins(%[[ROWS]], %[[W]] transposed
// CHECK: return
graph.parameter @w : tensor<3x48x40xf32> stacked variable from [#graph.source<"w.{}", file = [48, 40]>]
func.func @transposed(%x: tensor<6x8x16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %w: tensor<3x48x40xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"})
    -> (tensor<16x40xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<16x40xf32> {graph.kind = #graph.kind<output>, graph.name = "z"}) {
  %one = graph.constant dense<1> : tensor<i32> : tensor<i32>
  %layer = graph.layer_slice %w[%one] : (tensor<3x48x40xf32>, tensor<i32>) -> tensor<48x40xf32>
  %turned = graph.transpose %layer [1, 0] : (tensor<48x40xf32>) -> tensor<40x48xf32>
  %rows = graph.transpose %x [2, 0, 1] : (tensor<6x8x16xf32>) -> tensor<16x6x8xf32>
  %folded = graph.reshape %layer : (tensor<48x40xf32>) -> tensor<6x8x40xf32>
  %columns = graph.transpose %folded [2, 0, 1] : (tensor<6x8x40xf32>) -> tensor<40x6x8xf32>
  %y = graph.linear %rows, %columns contract = 2 : (tensor<16x6x8xf32>, tensor<40x6x8xf32>) -> tensor<16x40xf32>
  // Another order than memory's: no matrix.
  %mixed = graph.transpose %x [2, 1, 0] : (tensor<6x8x16xf32>) -> tensor<16x8x6xf32>
  %again = graph.reshape %mixed : (tensor<16x8x6xf32>) -> tensor<16x48xf32>
  %z = graph.linear %again, %turned contract = 1 : (tensor<16x48xf32>, tensor<40x48xf32>) -> tensor<16x40xf32>
  return %y, %z : tensor<16x40xf32>, tensor<16x40xf32>
}
