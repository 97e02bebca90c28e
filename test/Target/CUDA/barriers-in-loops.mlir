// Where barriers stand in and around loops and branches: threads write rows of a temporary and read its columns, which others wrote.
// RUN: llm-opt %s --cuda-distribute-tiles --canonicalize | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#flip = affine_map<(d0, d1) -> (d1, d0)>

// What came before the loop, its rounds meet; they do not meet each other.
// CHECK-LABEL: func.func private @in_front
// CHECK: vector.store
// CHECK: gpu.barrier
// CHECK: scf.for %{{.*}} = %c0 to %c9
// CHECK-NOT: gpu.barrier
// CHECK: return
func.func private @in_front(%y: memref<8x8xf32> {tessera.output}, %z: memref<8x8xf32> {tessera.output}, %begin: index, %end: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8x8xf32>
  %u = memref.alloc() : memref<8x8xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<8x8xf32>)
  scf.for %i = %c0 to %c9 step %c1 {
    linalg.generic {indexing_maps = [#flip, #id], iterator_types = ["parallel", "parallel"]} ins(%t : memref<8x8xf32>) outs(%y : memref<8x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
  }
  return
}

// Nor do those of a loop in a loop: still in front of both.
// CHECK-LABEL: func.func private @in_front_of_two
// CHECK: vector.store
// CHECK: gpu.barrier
// CHECK: scf.for %{{.*}} = %c0 to %c9
// CHECK: scf.for %{{.*}} = %c0 to %c9
// CHECK-NOT: gpu.barrier
// CHECK: return
func.func private @in_front_of_two(%y: memref<8x8xf32> {tessera.output}, %z: memref<8x8xf32> {tessera.output}, %begin: index, %end: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8x8xf32>
  %u = memref.alloc() : memref<8x8xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<8x8xf32>)
  scf.for %i = %c0 to %c9 step %c1 {
    scf.for %j = %c0 to %c9 step %c1 {
      linalg.generic {indexing_maps = [#flip, #id], iterator_types = ["parallel", "parallel"]} ins(%t : memref<8x8xf32>) outs(%y : memref<8x8xf32>) {
      ^bb0(%a: f32, %o: f32):
        linalg.yield %a : f32
      }
    }
  }
  return
}

// A round reads what the round before it wrote, and writes what others may still read.
// CHECK-LABEL: func.func private @from_round_to_round
// CHECK-NOT: gpu.barrier
// CHECK: scf.for %{{.*}} = %c0 to %c9
// CHECK: gpu.barrier
// CHECK: memref.load
// CHECK: gpu.barrier
// CHECK: vector.store
// CHECK-NOT: gpu.barrier
// CHECK: return
func.func private @from_round_to_round(%y: memref<8x8xf32> {tessera.output}, %z: memref<8x8xf32> {tessera.output}, %begin: index, %end: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8x8xf32>
  %u = memref.alloc() : memref<8x8xf32>
  scf.for %i = %c0 to %c9 step %c1 {
    linalg.generic {indexing_maps = [#flip, #id], iterator_types = ["parallel", "parallel"]} ins(%t : memref<8x8xf32>) outs(%y : memref<8x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
    linalg.fill ins(%zero : f32) outs(%t : memref<8x8xf32>)
  }
  return
}

// A loop has a barrier of its own, but may not run: what was written before it is not there for all.
// CHECK-LABEL: func.func private @may_not_run
// CHECK: vector.store
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step
// CHECK: gpu.barrier
// CHECK: vector.store
// CHECK: gpu.barrier
// CHECK: }
// CHECK: gpu.barrier
// CHECK: return
func.func private @may_not_run(%y: memref<8x8xf32> {tessera.output}, %z: memref<8x8xf32> {tessera.output}, %begin: index, %end: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8x8xf32>
  %u = memref.alloc() : memref<8x8xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<8x8xf32>)
  scf.for %i = %c0 to %begin step %c1 {
    linalg.fill ins(%zero : f32) outs(%u : memref<8x8xf32>)
    linalg.generic {indexing_maps = [#flip, #id], iterator_types = ["parallel", "parallel"]} ins(%u : memref<8x8xf32>) outs(%y : memref<8x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
  }
  linalg.generic {indexing_maps = [#flip, #id], iterator_types = ["parallel", "parallel"]} ins(%t : memref<8x8xf32>) outs(%z : memref<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// The same of a branch.
// CHECK-LABEL: func.func private @may_not_be_taken
// CHECK: vector.store
// CHECK: scf.if
// CHECK: gpu.barrier
// CHECK: }
// CHECK: gpu.barrier
// CHECK: return
func.func private @may_not_be_taken(%y: memref<8x8xf32> {tessera.output}, %z: memref<8x8xf32> {tessera.output}, %begin: index, %end: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8x8xf32>
  %u = memref.alloc() : memref<8x8xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<8x8xf32>)
  %even = arith.cmpi eq, %begin, %c9 : index
  scf.if %even {
    linalg.generic {indexing_maps = [#flip, #id], iterator_types = ["parallel", "parallel"]} ins(%t : memref<8x8xf32>) outs(%y : memref<8x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
  }
  linalg.generic {indexing_maps = [#flip, #id], iterator_types = ["parallel", "parallel"]} ins(%t : memref<8x8xf32>) outs(%z : memref<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// Sums that warps share go through memory of the block: in a loop nobody writes there before all have read the last round's.
// CHECK-LABEL: func.func private @sum_of_a_row
// CHECK: scf.for %{{.*}} = %c0 to %c9
// CHECK: gpu.barrier
// CHECK: memref.load
// CHECK: gpu.barrier
// CHECK: return
func.func private @sum_of_a_row(%x: memref<4096xf32>, %y: memref<f32> {tessera.output}, %begin: index, %end: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c9 step %c1 {
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : memref<4096xf32>) outs(%y : memref<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    }
  }
  return
}

// CHECK-LABEL: func.func private @sum_of_rows
// CHECK: scf.for %{{.*}} = %c0 to %c9
// CHECK: gpu.barrier
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: return
func.func private @sum_of_rows(%x: memref<64x4xf32>, %y: memref<4xf32> {tessera.output}, %begin: index, %end: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c9 step %c1 {
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<64x4xf32>) outs(%y : memref<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    }
  }
  return
}
