// Rows by counts: text, what they are checked for, and the call that they become.
// RUN: split-file %s %t
// RUN: llm-opt %t/text.mlir | llm-opt | FileCheck %t/text.mlir
// RUN: llm-opt %t/invalid.mlir --split-input-file --verify-diagnostics

//--- text.mlir
dist.mesh @mesh = <["ep"=2]>
// CHECK-LABEL: @rows
func.func @rows(%x: tensor<6x64xf32>, %n: tensor<4xi32>, %e: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK: exec.exchange_rows over [#dist.axis_ref<"ep">] ins(%{{.*}}, %{{.*}} : tensor<6x64xf32>, tensor<4xi32>) outs(%{{.*}} : tensor<8x64xf32>) even 3 most 6 -> tensor<8x64xf32>
  %y = exec.exchange_rows over [#dist.axis_ref<"ep">] ins(%x, %n : tensor<6x64xf32>, tensor<4xi32>) outs(%e : tensor<8x64xf32>) even 3 most 6 -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

//--- invalid.mlir
dist.mesh @mesh = <["ep"=2]>
func.func @width(%x: memref<6x64xf32>, %n: memref<4xi32>, %y: memref<8x32xf32>) {
  // expected-error @+1 {{both are rows [n, d] of equal elements}}
  exec.exchange_rows over [#dist.axis_ref<"ep">] ins(%x, %n : memref<6x64xf32>, memref<4xi32>) outs(%y : memref<8x32xf32>) even 3 most 6
  return
}

// -----

dist.mesh @mesh = <["ep"=2]>
func.func @counts(%x: memref<6x64xf32>, %n: memref<2xi32>, %y: memref<8x64xf32>) {
  // expected-error @+1 {{for a group of 2 they are 4 numbers of type i32}}
  exec.exchange_rows over [#dist.axis_ref<"ep">] ins(%x, %n : memref<6x64xf32>, memref<2xi32>) outs(%y : memref<8x64xf32>) even 3 most 6
  return
}

// -----

dist.mesh @mesh = <["ep"=2]>
func.func @most(%x: memref<6x64xf32>, %n: memref<4xi32>, %y: memref<8x64xf32>) {
  // expected-error @+1 {{sends 3 rows at even routing and 7 at most, of 6}}
  exec.exchange_rows over [#dist.axis_ref<"ep">] ins(%x, %n : memref<6x64xf32>, memref<4xi32>) outs(%y : memref<8x64xf32>) even 3 most 7
  return
}

// -----

func.func @mesh(%x: memref<6x64xf32>, %n: memref<4xi32>, %y: memref<8x64xf32>) {
  // expected-error @+1 {{communicates, but the module has no dist.mesh}}
  exec.exchange_rows over [#dist.axis_ref<"ep">] ins(%x, %n : memref<6x64xf32>, memref<4xi32>) outs(%y : memref<8x64xf32>) even 3 most 6
  return
}
