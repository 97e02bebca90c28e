// RUN: llm-opt %s --cpu-fuse-tile-ops --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A producer with one user vanishes into it.
// CHECK-LABEL: func @chain
// CHECK: linalg.generic
// CHECK:   math.exp
// CHECK:   arith.mulf
// CHECK-NOT: linalg.generic
func.func @chain(%a: tensor<1x64xf32>, %b: tensor<1x64xf32>) -> tensor<1x64xf32> attributes {tessera.kernel} {
  %e = tensor.empty() : tensor<1x64xf32>
  %x = linalg.exp ins(%a : tensor<1x64xf32>) outs(%e : tensor<1x64xf32>) -> tensor<1x64xf32>
  %y = linalg.mul ins(%x, %b : tensor<1x64xf32>, tensor<1x64xf32>) outs(%e : tensor<1x64xf32>) -> tensor<1x64xf32>
  return %y : tensor<1x64xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// The residual sum has two users; the first of them, a reduction, takes it over and hands it on.
// CHECK-LABEL: func @residual
// CHECK: %[[BOTH:.*]]:2 = linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// CHECK:   arith.addf
// CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
func.func @residual(%a: tensor<1x64xf32>, %b: tensor<1x64xf32>, %init: tensor<1xf32>) -> (tensor<1x64xf32>, tensor<1xf32>)
    attributes {tessera.kernel} {
  %e = tensor.empty() : tensor<1x64xf32>
  %x = linalg.add ins(%a, %b : tensor<1x64xf32>, tensor<1x64xf32>) outs(%e : tensor<1x64xf32>) -> tensor<1x64xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<1x64xf32>) outs(%init : tensor<1xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %m = arith.mulf %v, %v : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<1xf32>
  return %x, %s : tensor<1x64xf32>, tensor<1xf32>
}

// -----

// Functions that are no kernels stay as they are.
// CHECK-LABEL: func @other
// CHECK: linalg.exp
func.func @other(%a: tensor<1x64xf32>) -> tensor<1x64xf32> {
  %x = linalg.exp ins(%a : tensor<1x64xf32>) outs(%a : tensor<1x64xf32>) -> tensor<1x64xf32>
  return %x : tensor<1x64xf32>
}
