// Behind a loop whose rounds run on groups of threads it counts which group did a round.
// RUN: llm-opt %s --cuda-distribute-tiles --canonicalize | FileCheck %s

// Row 0 is read by the threads that wrote it, row 1 by others than those of the second group: that copy waits.
// CHECK-LABEL: func.func private @rows_of_two_groups
// CHECK: scf.for %{{.*}} = %{{.*}} to %c4 step %c4 {
// CHECK: memref.store
// CHECK-NOT: gpu.barrier
// CHECK: memref.load
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: memref.load
// CHECK: return
func.func private @rows_of_two_groups(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %first: memref<64xf32>, %second: memref<64xf32>, %begin: index, %end: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : memref<4x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %to = memref.subview %y[%i, 0] [1, 64] [1, 1] : memref<4x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%from : memref<64xf32, strided<[1], offset: ?>>) outs(%to : memref<64xf32, strided<[1], offset: ?>>)
  } {tessera.apart}
  %row0 = memref.subview %y[0, 0] [1, 64] [1, 1] : memref<4x64xf32> to memref<64xf32, strided<[1]>>
  linalg.copy ins(%row0 : memref<64xf32, strided<[1]>>) outs(%first : memref<64xf32>)
  %row1 = memref.subview %y[1, 0] [1, 64] [1, 1] : memref<4x64xf32> to memref<64xf32, strided<[1], offset: 64>>
  linalg.copy ins(%row1 : memref<64xf32, strided<[1], offset: 64>>) outs(%second : memref<64xf32>)
  return
}

// A number that one thread wrote is read in every round, by a thread of each group.
// CHECK-LABEL: func.func private @one_number_in_all_rounds
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: memref.load
// CHECK: return
func.func private @one_number_in_all_rounds(%one: memref<1xf32>, %y: memref<4x1xf32>, %begin: index, %end: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %number = arith.constant 2.0 : f32
  linalg.fill ins(%number : f32) outs(%one : memref<1xf32>)
  scf.for %i = %c0 to %c4 step %c1 {
    %to = memref.subview %y[%i, 0] [1, 1] [1, 1] : memref<4x1xf32> to memref<1xf32, strided<[1], offset: ?>>
    linalg.copy ins(%one : memref<1xf32>) outs(%to : memref<1xf32, strided<[1], offset: ?>>)
  } {tessera.apart}
  return
}
