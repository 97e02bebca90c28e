// What a reduction begins with is a constant of the op, not memory that a fill wrote, where nothing stands between the two.
// RUN: llm-opt %s --cuda-start-reductions | FileCheck %s
// RUN: llm-opt %s --cuda-start-reductions --cuda-distribute-tiles --canonicalize | FileCheck %s --check-prefix=THREADS

#row = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
#at = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func private @sum
// CHECK-NOT: linalg.fill
// CHECK: linalg.generic {{.*}} attrs = {tessera.starts = [1.500000e+00 : f32]}
// The first thread adds it; nobody reads the output, and nobody has to meet.
// THREADS-LABEL: func.func private @sum
// THREADS-SAME: %[[OUT:[a-z0-9]+]]: memref<f32>,
// THREADS-NOT: memref.load %[[OUT]]
// THREADS-NOT: gpu.barrier
// THREADS: %[[START:.*]] = arith.constant 1.500000e+00 : f32
// THREADS: scf.if
// THREADS-NEXT: %[[SUM:.*]] = arith.addf %{{.*}}, %[[START]] : f32
// THREADS: memref.store %[[SUM]], %[[OUT]]
// THREADS: return
func.func private @sum(%x: memref<24xf32>, %y: memref<f32>, %begin: index, %end: index) attributes {tessera.kernel} {
  %start = arith.constant 1.5 : f32
  linalg.fill ins(%start : f32) outs(%y : memref<f32>)
  linalg.generic {indexing_maps = [#row, #none], iterator_types = ["reduction"]} ins(%x : memref<24xf32>) outs(%y : memref<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  }
  return
}

// A fill that has become an op like any other; of two outputs the one that is not filled is added to. What stands between touches neither.
// CHECK-LABEL: func.func private @one_of_two
// CHECK-COUNT-2: linalg.generic
// CHECK-SAME: tessera.starts = [unit, 0xFF800000 : f32]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func private @one_of_two(%x: memref<8x48xf32>, %other: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>, %begin: index, %end: index) attributes {tessera.kernel} {
  %least = arith.constant 0xFF800000 : f32
  linalg.generic {indexing_maps = [#row], iterator_types = ["parallel"]} outs(%z : memref<8xf32>) {
  ^bb0(%o: f32):
    linalg.yield %least : f32
  }
  linalg.generic {indexing_maps = [#row], iterator_types = ["parallel"]} outs(%other : memref<8xf32>) {
  ^bb0(%o: f32):
    %twice = arith.addf %o, %o : f32
    linalg.yield %twice : f32
  }
  linalg.generic {indexing_maps = [#at, #first, #first], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x48xf32>) outs(%y, %z : memref<8xf32>, memref<8xf32>) {
  ^bb0(%a: f32, %s: f32, %m: f32):
    %t = arith.addf %s, %a : f32
    %n = arith.maximumf %m, %a : f32
    linalg.yield %t, %n : f32, f32
  }
  return
}

// What does not look at its output needs no fill and no constant.
// CHECK-LABEL: func.func private @overwritten
// CHECK-NOT: linalg.fill
// CHECK-NOT: tessera.starts
// CHECK: return
func.func private @overwritten(%x: memref<48xf32>, %y: memref<48xf32>, %begin: index, %end: index) attributes {tessera.kernel} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<48xf32>)
  linalg.copy ins(%x : memref<48xf32>) outs(%y : memref<48xf32>)
  return
}

// A fill stays where only a part is written, where another op reads it first, where the op reads it besides, also at places of its own, where a loop uses it many times,
// and where it is of a view. One of the diagonal prepares the diagonal.
// CHECK-LABEL: func.func private @kept
// CHECK-COUNT-6: linalg.fill
// CHECK: linalg.generic {{.*}} outs(%[[SQUARE:.*]] : memref<8x8xf32>)
// CHECK: linalg.generic {{.*}} outs(%[[SQUARE]] : memref<8x8xf32>)
// CHECK-NOT: tessera.starts
// CHECK: return
func.func private @kept(%x: memref<8x48xf32>, %a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %d: memref<8xf32>, %e: memref<16xf32>, %f: memref<8xf32>, %square: memref<8x8xf32>, %begin: index, %end: index) attributes {tessera.kernel} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  linalg.fill ins(%zero : f32) outs(%a : memref<8xf32>)
  %half = memref.subview %a[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  %some = memref.subview %x[0, 0] [4, 48] [1, 1] : memref<8x48xf32> to memref<4x48xf32, strided<[48, 1]>>
  linalg.generic {indexing_maps = [#at, #first], iterator_types = ["parallel", "reduction"]} ins(%some : memref<4x48xf32, strided<[48, 1]>>) outs(%half : memref<4xf32, strided<[1]>>) {
  ^bb0(%v: f32, %s: f32):
    %t = arith.addf %s, %v : f32
    linalg.yield %t : f32
  }
  linalg.fill ins(%zero : f32) outs(%b : memref<8xf32>)
  %read = memref.load %b[%c0] : memref<8xf32>
  memref.store %read, %c[%c0] : memref<8xf32>
  linalg.generic {indexing_maps = [#at, #first], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x48xf32>) outs(%b : memref<8xf32>) {
  ^bb0(%v: f32, %s: f32):
    %t = arith.addf %s, %v : f32
    linalg.yield %t : f32
  }
  linalg.fill ins(%zero : f32) outs(%c : memref<8xf32>)
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%c : memref<8xf32>) outs(%c : memref<8xf32>) {
  ^bb0(%v: f32, %s: f32):
    %t = arith.addf %s, %v : f32
    linalg.yield %t : f32
  }
  linalg.fill ins(%zero : f32) outs(%d : memref<8xf32>)
  scf.for %i = %c0 to %c4 step %c1 {
    linalg.generic {indexing_maps = [#at, #first], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x48xf32>) outs(%d : memref<8xf32>) {
    ^bb0(%v: f32, %s: f32):
      %t = arith.addf %s, %v : f32
      linalg.yield %t : f32
    }
  }
  linalg.fill ins(%zero : f32) outs(%e : memref<16xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0 + 8)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x48xf32>) outs(%e : memref<16xf32>) {
  ^bb0(%v: f32, %s: f32):
    %t = arith.addf %s, %v : f32
    linalg.yield %t : f32
  }
  linalg.fill ins(%zero : f32) outs(%f : memref<8xf32>)
  linalg.generic {indexing_maps = [#row], iterator_types = ["parallel"]} outs(%f : memref<8xf32>) {
  ^bb0(%s: f32):
    %first = memref.load %f[%c0] : memref<8xf32>
    %t = arith.addf %s, %first : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0, d0)>], iterator_types = ["parallel"]} outs(%square : memref<8x8xf32>) {
  ^bb0(%s: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#at], iterator_types = ["parallel", "parallel"]} outs(%square : memref<8x8xf32>) {
  ^bb0(%s: f32):
    %t = arith.addf %s, %s : f32
    linalg.yield %t : f32
  }
  return
}
