// What follows a product of the library is part of the call where the library can do it and bytes are saved: that is where the end of it is read from memory anyway.
// RUN: llm-opt %s --split-input-file --spmd-to-kernels=target=cuda | FileCheck %s

// Bias and GELU between two products: one call, no kernel. Then bias and residual, whatever their order, into what a norm reads too.
// CHECK-LABEL: func.func @mlp
// CHECK: %[[H:.*]] = exec.matmul m = 9 n = 32 k = 8 ins({{.*}}) bias(%{{.*}} : tensor<32xbf16>) function gelu_tanh outs
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: %[[Y:.*]] = exec.matmul m = 9 n = 8 k = 32 ins(%[[H]], {{.*}}) bias(%{{.*}} : tensor<8xbf16>) addend(%{{.*}} : tensor<9x8xbf16>) outs
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: %[[N:.*]] = exec.launch @rms_norm_9x8 ins(%[[Y]],
// CHECK-NEXT: return %[[Y]], %[[N]]
func.func @mlp(%x: tensor<9x8xbf16> {graph.kind = #graph.kind<input>, graph.name = "x"}, %up: tensor<32x8xbf16> {graph.kind = #graph.kind<input>, graph.name = "up"},
    %upBias: tensor<32xbf16> {graph.kind = #graph.kind<input>, graph.name = "up.b"}, %down: tensor<8x32xbf16> {graph.kind = #graph.kind<input>, graph.name = "down"},
    %downBias: tensor<8xbf16> {graph.kind = #graph.kind<input>, graph.name = "down.b"})
    -> (tensor<9x8xbf16> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<9x8xbf16> {graph.kind = #graph.kind<output>, graph.name = "n"}) {
  %0 = graph.linear %x, %up contract = 1 : (tensor<9x8xbf16>, tensor<32x8xbf16>) -> tensor<9x32xbf16>
  %1 = graph.add %0, %upBias : (tensor<9x32xbf16>, tensor<32xbf16>) -> tensor<9x32xbf16>
  %2 = graph.gelu_tanh %1 : tensor<9x32xbf16>
  %3 = graph.linear %2, %down contract = 1 : (tensor<9x32xbf16>, tensor<8x32xbf16>) -> tensor<9x8xbf16>
  %4 = graph.add %x, %3 : (tensor<9x8xbf16>, tensor<9x8xbf16>) -> tensor<9x8xbf16>
  %5 = graph.add %4, %downBias : (tensor<9x8xbf16>, tensor<8xbf16>) -> tensor<9x8xbf16>
  %6 = graph.rms_norm %5, %downBias eps = 1.000000e-05 : (tensor<9x8xbf16>, tensor<8xbf16>) -> tensor<9x8xbf16>
  return %5, %6 : tensor<9x8xbf16>, tensor<9x8xbf16>
}

// -----

// The chain of residuals of a layer: the second product adds what the first one adds to, which is stored for it.
// CHECK-LABEL: func.func @residuals
// CHECK: %[[A:.*]] = exec.matmul {{.*}} addend(%{{.*}} : tensor<9x8xf32>) outs
// CHECK: exec.launch @rms_norm_9x8 ins(%[[A]],
// CHECK: exec.matmul {{.*}} addend(%[[A]] : tensor<9x8xf32>) outs
// CHECK-NOT: exec.launch
func.func @residuals(%x: tensor<9x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "w"},
    %s: tensor<8xf32> {graph.kind = #graph.kind<input>, graph.name = "s"}) -> (tensor<9x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.linear %x, %w contract = 1 : (tensor<9x8xf32>, tensor<8x8xf32>) -> tensor<9x8xf32>
  %1 = graph.add %x, %0 : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  %2 = graph.rms_norm %1, %s eps = 1.000000e-05 : (tensor<9x8xf32>, tensor<8xf32>) -> tensor<9x8xf32>
  %3 = graph.linear %2, %w contract = 1 : (tensor<9x8xf32>, tensor<8x8xf32>) -> tensor<9x8xf32>
  %4 = graph.add %1, %3 : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  return %4 : tensor<9x8xf32>
}

// -----

// A sum that only a norm reads stays in the norm's kernel, where it is not stored; the exact GELU is not the library's, and nothing is added after a function.
// CHECK-LABEL: func.func @kernels
// CHECK-NOT: {{addend|bias|function}}
// CHECK: exec.launch @add_rms_norm
// CHECK: exec.launch @gelu_erf
// CHECK: exec.matmul m = 9 n = 8 k = 8 {{.*}} outs
// CHECK: exec.launch @relu_add
// CHECK-NOT: {{addend|bias|function}}
// CHECK: return
func.func @kernels(%x: tensor<9x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "w"},
    %s: tensor<8xf32> {graph.kind = #graph.kind<input>, graph.name = "s"}) -> (tensor<9x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.linear %x, %w contract = 1 : (tensor<9x8xf32>, tensor<8x8xf32>) -> tensor<9x8xf32>
  %1 = graph.add %x, %0 : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  %2 = graph.rms_norm %1, %s eps = 1.000000e-05 : (tensor<9x8xf32>, tensor<8xf32>) -> tensor<9x8xf32>
  %3 = graph.linear %2, %w contract = 1 : (tensor<9x8xf32>, tensor<8x8xf32>) -> tensor<9x8xf32>
  %4 = graph.gelu_erf %3 : tensor<9x8xf32>
  %5 = graph.linear %4, %w contract = 1 : (tensor<9x8xf32>, tensor<8x8xf32>) -> tensor<9x8xf32>
  %6 = graph.relu %5 : tensor<9x8xf32>
  %7 = graph.add %6, %x : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  return %7 : tensor<9x8xf32>
}

// -----

// What a kernel makes for this sum alone would have to be stored for the product. Another sum with it would be too, and it is.
// CHECK-LABEL: func.func @made
// CHECK: exec.matmul
// CHECK-NOT: addend
// CHECK: exec.launch @cos_add
func.func @made(%x: tensor<9x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<8x8xf32> {graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<9x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.linear %x, %w contract = 1 : (tensor<9x8xf32>, tensor<8x8xf32>) -> tensor<9x8xf32>
  %1 = graph.cos %x : tensor<9x8xf32>
  %2 = graph.add %0, %1 : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  return %2 : tensor<9x8xf32>
}

// -----

// cuBLASLt adds a matrix to float32 results of bf16, and no bias.
// CHECK-LABEL: func.func @wide
// CHECK: exec.matmul {{.*}} addend(%{{.*}} : tensor<9x8xf32>) outs
// CHECK: exec.matmul m = 9 n = 8 k = 8 ins({{.*}}) outs
// CHECK: exec.launch @add_9x8
func.func @wide(%x: tensor<9x8xbf16> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<8x8xbf16> {graph.kind = #graph.kind<input>, graph.name = "w"},
    %r: tensor<9x8xf32> {graph.kind = #graph.kind<input>, graph.name = "r"}, %b: tensor<8xf32> {graph.kind = #graph.kind<input>, graph.name = "b"})
    -> (tensor<9x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<9x8xf32> {graph.kind = #graph.kind<output>, graph.name = "z"}) {
  %0 = graph.linear %x, %w contract = 1 : (tensor<9x8xbf16>, tensor<8x8xbf16>) -> tensor<9x8xf32>
  %1 = graph.add %0, %r : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  %2 = graph.linear %x, %w contract = 1 : (tensor<9x8xbf16>, tensor<8x8xbf16>) -> tensor<9x8xf32>
  %3 = graph.add %2, %b : (tensor<9x8xf32>, tensor<8xf32>) -> tensor<9x8xf32>
  return %1, %3 : tensor<9x8xf32>, tensor<9x8xf32>
}

// -----

// cuBLASLt reads 16 bytes of a bias at a time. Layers of a parameter are held apart so that it can; layer 1 of an input begins at byte 36.
// CHECK: graph.parameter @b {{.*}}exec.layer_bytes = 48
// CHECK-LABEL: func.func @layers
// CHECK: exec.matmul {{.*}} bias(%{{.*}} : tensor<9xf32>) outs
// CHECK: exec.matmul m = 9 n = 9 k = 8 ins({{.*}}) outs
// CHECK: exec.launch @add_9x9
graph.parameter @b : tensor<2x9xf32> stacked from [#graph.source<"b.{}", file = [9]>]
func.func @layers(%x: tensor<9x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<9x8xf32> {graph.kind = #graph.kind<input>, graph.name = "w"},
    %b: tensor<2x9xf32> {graph.kind = #graph.kind<parameter>, graph.name = "b"}, %c: tensor<2x9xf32> {graph.kind = #graph.kind<input>, graph.name = "c"})
    -> (tensor<9x9xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<9x9xf32> {graph.kind = #graph.kind<output>, graph.name = "z"}) {
  %one = graph.constant dense<1> : tensor<i32> : tensor<i32>
  %b1 = graph.layer_slice %b[%one] : (tensor<2x9xf32>, tensor<i32>) -> tensor<9xf32>
  %c1 = graph.layer_slice %c[%one] : (tensor<2x9xf32>, tensor<i32>) -> tensor<9xf32>
  %0 = graph.linear %x, %w contract = 1 : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x9xf32>
  %1 = graph.add %0, %b1 : (tensor<9x9xf32>, tensor<9xf32>) -> tensor<9x9xf32>
  %2 = graph.linear %x, %w contract = 1 : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x9xf32>
  %3 = graph.add %2, %c1 : (tensor<9x9xf32>, tensor<9xf32>) -> tensor<9x9xf32>
  return %1, %3 : tensor<9x9xf32>, tensor<9x9xf32>
}

// -----

// No product waits for other ranks to add what they send, where it need not: the second one comes after that anyway.
// CHECK-LABEL: func.func @exchanged
// CHECK: exec.matmul m = 9 n = 8 k = 8 ins({{.*}}) outs
// CHECK: exec.collective all_gather
// CHECK: exec.launch @add_9x8
// CHECK: exec.matmul {{.*}} addend
dist.mesh @mesh = <["tp"=3]>
func.func @exchanged(%x: tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %r: tensor<3x8xf32, #dist.sharding<@mesh, [{"tp"}, {}], global=[9, 8]>> {graph.kind = #graph.kind<input>, graph.name = "r"},
    %w: tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 8]>> {graph.kind = #graph.kind<input>, graph.name = "w"})
    -> (tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>> {graph.kind = #graph.kind<output>, graph.name = "y"},
        tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>> {graph.kind = #graph.kind<output>, graph.name = "z"}) {
  %0 = graph.linear %x, %w contract = 1 : (tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>>, tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 8]>>) -> tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>>
  %1 = dist.all_gather %r dim = 0 axes = {"tp"} : tensor<3x8xf32, #dist.sharding<@mesh, [{"tp"}, {}], global=[9, 8]>> -> tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>>
  %2 = graph.add %0, %1 : (tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>>, tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>>) -> tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>>
  %3 = graph.linear %x, %w contract = 1 : (tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>>, tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 8]>>) -> tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>>
  %4 = graph.add %3, %1 : (tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>>, tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>>) -> tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>>
  return %2, %4 : tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>>, tensor<9x8xf32, #dist.sharding<@mesh, [{}, {}], global=[9, 8]>>
}
