// RUN: llm-opt %s --fuse-tile-ops --split-input-file | FileCheck %s

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

#table = affine_map<(d0, d1) -> (d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// A table that every row reads is computed once, not once a row.
// CHECK-LABEL: func @table
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel"]
// CHECK:   math.sin
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK-NOT: math.sin
// CHECK: return
func.func @table(%a: tensor<9x32xf32>, %t: tensor<32xf32>) -> tensor<9x32xf32> attributes {tessera.kernel} {
  %e = tensor.empty() : tensor<32xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%t : tensor<32xf32>) outs(%e : tensor<32xf32>) {
  ^bb0(%x: f32, %u: f32):
    %y = math.sin %x : f32
    linalg.yield %y : f32
  } -> tensor<32xf32>
  %o = tensor.empty() : tensor<9x32xf32>
  %r = linalg.generic {indexing_maps = [#id, #table, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %s : tensor<9x32xf32>, tensor<32xf32>) outs(%o : tensor<9x32xf32>) {
  ^bb0(%x: f32, %y: f32, %u: f32):
    %z = arith.mulf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<9x32xf32>
  return %r : tensor<9x32xf32>
}

// -----

#x = affine_map<(d0, d1, d2) -> (d0, d2)>
#s = affine_map<(d0, d1) -> ()>
#p = affine_map<(d0, d1) -> (d0, d1)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>

// A product that sums nothing up still adds to its destination: in its consumer's loop it would do so once for every column.
// CHECK-LABEL: func @adds
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK:   arith.addf
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK:   %[[PRODUCT:.*]] = arith.mulf
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %{{.*}}, %[[PRODUCT]]
// CHECK-NEXT: linalg.yield %[[SUM]] : f32
func.func @adds(%a: tensor<2x3xf32>, %b: tensor<f32>, %w: tensor<4x3xf32>, %zeros: tensor<2x3xf32>, %out: tensor<2x4xf32>) -> tensor<2x4xf32>
    attributes {tessera.kernel} {
  %u = linalg.generic {indexing_maps = [#p, #s, #p], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<2x3xf32>, tensor<f32>) outs(%zeros : tensor<2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<2x3xf32>
  %v = linalg.generic {indexing_maps = [#x, affine_map<(d0, d1, d2) -> (d1, d2)>, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%u, %w : tensor<2x3xf32>, tensor<4x3xf32>) outs(%out : tensor<2x4xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<2x4xf32>
  return %v : tensor<2x4xf32>
}

// -----

// Functions that are no kernels stay as they are.
// CHECK-LABEL: func @other
// CHECK: linalg.exp
func.func @other(%a: tensor<1x64xf32>) -> tensor<1x64xf32> {
  %x = linalg.exp ins(%a : tensor<1x64xf32>) outs(%a : tensor<1x64xf32>) -> tensor<1x64xf32>
  return %x : tensor<1x64xf32>
}
