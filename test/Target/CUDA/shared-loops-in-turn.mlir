// Rounds run one after the other where their threads share a sum, where two ops meet in memory, where one looks up what it writes, where one fills a block, and where nobody says that they write apart.
// RUN: llm-opt %s --cuda-distribute-tiles --canonicalize | FileCheck %s

#row = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>

// CHECK-LABEL: func.func private @in_turn
// CHECK: scf.for %{{.*}} = %c0 to %c4 step %c1
// CHECK: gpu.shuffle
// CHECK: scf.for %{{.*}} = %c0 to %c4 step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c4 step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c4 step %c1
// CHECK-NOT: scf.for
// CHECK: return
func.func private @in_turn(%x: memref<4x64xf32>, %s: memref<4xf32>, %y: memref<4x64xf32>, %z: memref<4x64xf32>, %large: memref<2x4096xf32>, %other: memref<2x4096xf32>, %begin: index, %end: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %row = memref.subview %x[%i, 0] [1, 64] [1, 1] : memref<4x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %sum = memref.subview %s[%i] [1] [1] : memref<4xf32> to memref<f32, strided<[], offset: ?>>
    linalg.generic {indexing_maps = [#row, #none], iterator_types = ["reduction"]} ins(%row : memref<64xf32, strided<[1], offset: ?>>) outs(%sum : memref<f32, strided<[], offset: ?>>) {
    ^bb0(%a: f32, %acc: f32):
      %t = arith.addf %acc, %a : f32
      linalg.yield %t : f32
    }
  } {tessera.apart}
  scf.for %i = %c0 to %c4 step %c1 {
    %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : memref<4x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %over = memref.subview %y[%i, 0] [1, 64] [1, 1] : memref<4x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %to = memref.subview %z[%i, 0] [1, 64] [1, 1] : memref<4x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%from : memref<64xf32, strided<[1], offset: ?>>) outs(%over : memref<64xf32, strided<[1], offset: ?>>)
    linalg.copy ins(%over : memref<64xf32, strided<[1], offset: ?>>) outs(%to : memref<64xf32, strided<[1], offset: ?>>)
  } {tessera.apart}
  scf.for %i = %c0 to %c4 step %c1 {
    %to = memref.subview %z[%i, 0] [1, 64] [1, 1] : memref<4x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#row], iterator_types = ["parallel"]} outs(%to : memref<64xf32, strided<[1], offset: ?>>) {
    ^bb0(%o: f32):
      %first = memref.load %z[%i, %c0] : memref<4x64xf32>
      linalg.yield %first : f32
    }
  } {tessera.apart}
  scf.for %i = %c0 to %c2 step %c1 {
    %from = memref.subview %large[%i, 0] [1, 4096] [1, 1] : memref<2x4096xf32> to memref<4096xf32, strided<[1], offset: ?>>
    %to = memref.subview %other[%i, 0] [1, 4096] [1, 1] : memref<2x4096xf32> to memref<4096xf32, strided<[1], offset: ?>>
    linalg.copy ins(%from : memref<4096xf32, strided<[1], offset: ?>>) outs(%to : memref<4096xf32, strided<[1], offset: ?>>)
  } {tessera.apart}
  scf.for %i = %c0 to %c4 step %c1 {
    %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : memref<4x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %to = memref.subview %z[%i, 0] [1, 64] [1, 1] : memref<4x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%from : memref<64xf32, strided<[1], offset: ?>>) outs(%to : memref<64xf32, strided<[1], offset: ?>>)
  }
  return
}
