// Where barriers stand between accesses at places that are computed, in operations too large to be gone through, and of several threads each.
// RUN: llm-opt %s --cuda-distribute-tiles --canonicalize | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#flip = affine_map<(d0, d1) -> (d1, d0)>
#row = affine_map<(d0) -> (d0)>

// More than 2^20 points: any thread may touch anything.
// CHECK-LABEL: func.func private @large
// CHECK: gpu.barrier
// CHECK: return
func.func private @large(%y: memref<2048x1024xf32> {tessera.output}, %z: memref<1024x2048xf32> {tessera.output}, %begin: index, %end: index) attributes {tessera.kernel} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<2048x1024xf32>)
  linalg.generic {indexing_maps = [#flip, #id], iterator_types = ["parallel", "parallel"]} ins(%y : memref<2048x1024xf32>) outs(%z : memref<1024x2048xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// One thread stores at a place that is computed.
// CHECK-LABEL: func.func private @stored_somewhere
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: return
func.func private @stored_somewhere(%t: memref<8xf32> {tessera.output}, %y: memref<8xf32> {tessera.output}, %begin: index, %end: index) attributes {tessera.kernel} {
  %one = arith.constant 1.0 : f32
  memref.store %one, %t[%begin] : memref<8xf32>
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%t : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// What a body looks up may be anybody's.
// CHECK-LABEL: func.func private @looked_up
// CHECK: gpu.barrier
// CHECK: return
func.func private @looked_up(%ids: memref<8xi32>, %y: memref<8xf32> {tessera.output}, %begin: index, %end: index) attributes {tessera.kernel} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<8xf32>)
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%ids : memref<8xi32>) outs(%y : memref<8xf32>) {
  ^bb0(%id: i32, %o: f32):
    %at = arith.index_cast %id : i32 to index
    %a = memref.load %t[%at] : memref<8xf32>
    linalg.yield %a : f32
  }
  return
}

// Two rows from one place on, by several threads, and a row at another place, which several threads read.
// CHECK-LABEL: func.func private @rows_of_several
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK: return
func.func private @rows_of_several(%y: memref<8x8xf32> {tessera.output}, %begin: index, %end: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8x8xf32>
  scf.for %i = %c0 to %c6 step %c1 {
    %two = memref.subview %t[%i, 0] [2, 8] [1, 1] : memref<8x8xf32> to memref<2x8xf32, strided<[8, 1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%two : memref<2x8xf32, strided<[8, 1], offset: ?>>)
    %one = memref.subview %t[%begin, 0] [1, 8] [1, 1] : memref<8x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, #id], iterator_types = ["parallel", "parallel"]} ins(%one : memref<8xf32, strided<[1], offset: ?>>) outs(%y : memref<8x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
  }
  return
}
