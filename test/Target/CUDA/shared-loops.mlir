// The rounds of a loop that write apart run on groups of threads at once: round i is for group i mod the number of groups.
// RUN: llm-opt %s --bufferize-kernels --canonicalize --cse --canonicalize --cuda-distribute-tiles --canonicalize | FileCheck %s

#row = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>

// Four rows of 64: 64 threads for each, element by element (no launch promises an alignment). What they read another thread may have written, so all meet in front; nobody
// meets within, and none of the rows waits for another.
// CHECK-LABEL: func.func private @rows
// CHECK-SAME: tessera.threads = 256
// CHECK-DAG: %[[T:.*]] = gpu.thread_id x
// CHECK-DAG: %[[LANE:.*]] = arith.remui %[[T]], %c64
// CHECK-DAG: %[[GROUP:.*]] = arith.divui %[[T]], %c64
// CHECK: gpu.barrier
// CHECK: scf.for %[[ROW:.*]] = %[[GROUP]] to %c4 step %c4 {
// CHECK: memref.load %{{.*}}[%[[ROW]]]
// CHECK: scf.if
// CHECK: memref.load %{{.*}}[%[[LANE]]]
// CHECK: memref.store %{{.*}}[%[[LANE]]]
// CHECK-NOT: gpu.barrier
// CHECK: return
func.func private @rows(%x: tensor<4x64xf32>, %at: tensor<4xi32>, %y: tensor<16x64xf32>, %begin: index, %end: index) -> tensor<16x64xf32> attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %e = tensor.empty() : tensor<64x4xf32>
  %turned = linalg.transpose ins(%x : tensor<4x64xf32>) outs(%e : tensor<64x4xf32>) permutation = [1, 0]
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%out = %y) -> (tensor<16x64xf32>) {
    %p = tensor.extract %at[%i] : tensor<4xi32>
    %place = arith.index_cast %p : i32 to index
    %inside = arith.cmpi ult, %place, %c16 : index
    %next = scf.if %inside -> (tensor<16x64xf32>) {
      %row = tensor.extract_slice %turned[0, %i] [64, 1] [1, 1] : tensor<64x4xf32> to tensor<64xf32>
      %old = tensor.extract_slice %out[%place, 0] [1, 64] [1, 1] : tensor<16x64xf32> to tensor<64xf32>
      %copied = linalg.copy ins(%row : tensor<64xf32>) outs(%old : tensor<64xf32>) -> tensor<64xf32>
      %written = tensor.insert_slice %copied into %out[%place, 0] [1, 64] [1, 1] : tensor<64xf32> into tensor<16x64xf32>
      scf.yield %written : tensor<16x64xf32>
    } else {
      scf.yield %out : tensor<16x64xf32>
    }
    scf.yield %next : tensor<16x64xf32>
  } {tessera.apart}
  return %r : tensor<16x64xf32>
}

// Where a round writes follows from data: whoever reads a row behind the loop waits for all of them, whichever row it is.
// CHECK-LABEL: func.func private @row_behind
// CHECK: scf.for %{{.*}} = %{{.*}} to %c4 step %c4 {
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: memref.load %{{.*}}[%{{.*}}]
// CHECK: return
func.func private @row_behind(%x: tensor<4x64xf32>, %at: tensor<4xi32>, %y: tensor<16x64xf32>, %z: tensor<64xf32>, %begin: index, %end: index) -> (tensor<16x64xf32>, tensor<64xf32>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%out = %y) -> (tensor<16x64xf32>) {
    %p = tensor.extract %at[%i] : tensor<4xi32>
    %place = arith.index_cast %p : i32 to index
    %row = tensor.extract_slice %x[%i, 0] [1, 64] [1, 1] : tensor<4x64xf32> to tensor<64xf32>
    %old = tensor.extract_slice %out[%place, 0] [1, 64] [1, 1] : tensor<16x64xf32> to tensor<64xf32>
    %copied = linalg.copy ins(%row : tensor<64xf32>) outs(%old : tensor<64xf32>) -> tensor<64xf32>
    %written = tensor.insert_slice %copied into %out[%place, 0] [1, 64] [1, 1] : tensor<64xf32> into tensor<16x64xf32>
    scf.yield %written : tensor<16x64xf32>
  } {tessera.apart}
  %five = tensor.extract_slice %r[5, 0] [1, 64] [1, 1] : tensor<16x64xf32> to tensor<64xf32>
  %copy = linalg.copy ins(%five : tensor<64xf32>) outs(%z : tensor<64xf32>) -> tensor<64xf32>
  return %r, %copy : tensor<16x64xf32>, tensor<64xf32>
}
