// Ops whose rules share leading rows become one kernel, whatever they are; a library call between them keeps them apart, and
// so do rows that disagree. Equal kernels are one function.
// RUN: llm-opt %s --split-input-file --spmd-to-kernels | FileCheck %s

graph.parameter @w : tensor<64x64xf32> from [#graph.source<"w", file = [64, 64]>]
graph.parameter @n : tensor<64xf32> from [#graph.source<"n", file = [64]>]

// The sum is needed after the norm too: a kernel with two results. silu and mul stand behind the product; the last add of the
// second block is the same kernel as the first's.
// CHECK-LABEL: func.func @residual
// CHECK-SAME: (%[[X:[^:]*]]: tensor<2x256x64xf32>
// CHECK: %[[N:.*]] = exec.param @n : tensor<64xf32>
// CHECK: %[[SUM:.*]]:2 = exec.launch @[[ADDNORM:add_rms_norm[a-z0-9_]*]] ins(%[[X]], %{{.*}}, %[[N]] : {{.*}}) outs({{.*}}) count = 512 grain =
// CHECK: %[[Y:.*]] = exec.matmul m = 512 n = 64 k = 64 ins(%[[SUM]]#1 : {{.*}}) packed @w outs
// CHECK: %[[S:.*]]:2 = exec.launch @[[REST:silu_mul_add_rms_norm[a-z0-9_]*]] ins(%[[Y]], %[[SUM]]#0, %[[N]]
// CHECK: %[[Z:.*]] = exec.matmul {{.*}} ins(%[[S]]#1
// CHECK: exec.launch @[[REST]] ins(%[[Z]], %[[S]]#0, %[[N]]
// CHECK-NOT: exec.launch
// CHECK: return
func.func @residual(%x: tensor<2x256x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %y: tensor<2x256x64xf32> {graph.kind = #graph.kind<input>, graph.name = "y"},
    %w: tensor<64x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"},
    %n: tensor<64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "n"})
    -> (tensor<2x256x64xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}, tensor<2x256x64xf32> {graph.kind = #graph.kind<output>, graph.name = "b"}) {
  %0 = graph.add %x, %y : (tensor<2x256x64xf32>, tensor<2x256x64xf32>) -> tensor<2x256x64xf32>
  %1 = graph.rms_norm %0, %n eps = 1.0e-5 : (tensor<2x256x64xf32>, tensor<64xf32>) -> tensor<2x256x64xf32>
  %2 = graph.linear %1, %w contract = 1 : (tensor<2x256x64xf32>, tensor<64x64xf32>) -> tensor<2x256x64xf32>
  %3 = graph.silu %2 : tensor<2x256x64xf32>
  %4 = graph.mul %3, %2 : (tensor<2x256x64xf32>, tensor<2x256x64xf32>) -> tensor<2x256x64xf32>
  %5 = graph.add %4, %0 : (tensor<2x256x64xf32>, tensor<2x256x64xf32>) -> tensor<2x256x64xf32>
  %6 = graph.rms_norm %5, %n eps = 1.0e-5 : (tensor<2x256x64xf32>, tensor<64xf32>) -> tensor<2x256x64xf32>
  %7 = graph.linear %6, %w contract = 1 : (tensor<2x256x64xf32>, tensor<64x64xf32>) -> tensor<2x256x64xf32>
  %8 = graph.silu %7 : tensor<2x256x64xf32>
  %9 = graph.mul %8, %7 : (tensor<2x256x64xf32>, tensor<2x256x64xf32>) -> tensor<2x256x64xf32>
  %10 = graph.add %9, %5 : (tensor<2x256x64xf32>, tensor<2x256x64xf32>) -> tensor<2x256x64xf32>
  %11 = graph.rms_norm %10, %n eps = 1.0e-5 : (tensor<2x256x64xf32>, tensor<64xf32>) -> tensor<2x256x64xf32>
  return %10, %11 : tensor<2x256x64xf32>, tensor<2x256x64xf32>
}
// The body: one loop over rows, tiles of one row.
// CHECK: func.func private @[[ADDNORM]]({{.*}}) -> ({{.*}}) attributes {tessera.kernel}
// CHECK: scf.for
// CHECK: tensor.extract_slice {{.*}} : tensor<2x256x64xf32> to tensor<1x1x64xf32>
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: math.rsqrt
// CHECK: tensor.insert_slice {{.*}} : tensor<1x1x64xf32> into tensor<2x256x64xf32>

// -----

// A transpose of the rows' dimensions cannot share rows with its producer (row 0 of the result needs column 0 of all rows), and what makes
// constants is made again in each kernel.
// CHECK-LABEL: func.func @apart
// CHECK: exec.launch @mul_exp_256x64 ins(%{{.*}} : tensor<256x64xf32>)
// CHECK: exec.launch @transpose_mul_64x256 ins(%{{.*}} : tensor<256x64xf32>)
// CHECK: return
func.func @apart(%x: tensor<256x64xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<64x256xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %c = graph.constant dense<2.0> : tensor<f32> : tensor<f32>
  %0 = graph.mul %x, %c : (tensor<256x64xf32>, tensor<f32>) -> tensor<256x64xf32>
  %1 = graph.exp %0 : tensor<256x64xf32>
  %2 = graph.transpose %1 [1, 0] : (tensor<256x64xf32>) -> tensor<64x256xf32>
  %3 = graph.mul %2, %c : (tensor<64x256xf32>, tensor<f32>) -> tensor<64x256xf32>
  return %3 : tensor<64x256xf32>
}

// -----

// The same ops on the same shapes with another operand in the last one: two kernels.
// CHECK-LABEL: func.func @wiring
// CHECK-SAME: (%[[A:[^:]*]]: tensor<256x64xf32> {{.*}}, %[[B:[^:]*]]: tensor<256x64xf32> {{.*}}, %[[C:[^:]*]]: tensor<256x64xf32> {{.*}}, %[[D:[^:]*]]: tensor<256x64xf32>
// CHECK: exec.launch @sub_256x64 ins(%[[A]], %[[B]] :
// CHECK: exec.launch @sub_256x64_0 ins(%[[C]], %[[D]] :
// CHECK: return
func.func @wiring(%a: tensor<256x64xf32> {graph.kind = #graph.kind<input>, graph.name = "a"}, %b: tensor<256x64xf32> {graph.kind = #graph.kind<input>, graph.name = "b"},
    %c: tensor<256x64xf32> {graph.kind = #graph.kind<input>, graph.name = "c"}, %d: tensor<256x64xf32> {graph.kind = #graph.kind<input>, graph.name = "d"})
    -> (tensor<256x64xf32> {graph.kind = #graph.kind<output>, graph.name = "x"}, tensor<256x64xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.sub %a, %b : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %1 = graph.sub %0, %a : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %2 = graph.sub %c, %d : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %3 = graph.sub %2, %d : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  return %1, %3 : tensor<256x64xf32>, tensor<256x64xf32>
}

// -----

// %u needs the sine, whose kernel needs %a as well: %a may not run with %u, or both kernels would wait for each other.
// CHECK-LABEL: func.func @waits
// CHECK: %[[A:.*]] = exec.launch @tanh_64x256
// CHECK: %[[K:.*]]:2 = exec.launch @sin_transpose_add_256x64 ins(%{{.*}}, %[[A]] :
// CHECK: exec.launch @transpose_add_64x256 ins(%[[K]]#0, %[[A]] :
// CHECK: return
func.func @waits(%x: tensor<64x256xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %y: tensor<256x64xf32> {graph.kind = #graph.kind<input>, graph.name = "y"})
    -> (tensor<64x256xf32> {graph.kind = #graph.kind<output>, graph.name = "u"}, tensor<256x64xf32> {graph.kind = #graph.kind<output>, graph.name = "v"}) {
  %a = graph.tanh %x : tensor<64x256xf32>
  %k = graph.sin %y : tensor<256x64xf32>
  %at = graph.transpose %a [1, 0] : (tensor<64x256xf32>) -> tensor<256x64xf32>
  %v = graph.add %k, %at : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %kt = graph.transpose %k [1, 0] : (tensor<256x64xf32>) -> tensor<64x256xf32>
  %u = graph.add %a, %kt : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  return %u, %v : tensor<64x256xf32>, tensor<256x64xf32>
}
