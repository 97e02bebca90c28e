// An iteration is a block; the dimensions of its tile ops are threads.
// RUN: llm-opt %s --bufferize-kernels --canonicalize --cse --canonicalize --cuda-promise-alignment --cuda-distribute-tiles --canonicalize | FileCheck %s

#row = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>

// A sum over a row of 4 x 48 is shared by 16 threads, 16 bytes at a time: nobody else has a chunk. They meet when the sum is there; the zero that it
// begins with is the first thread's own.
// CHECK-LABEL: func.func private @normalize
// CHECK-SAME: tessera.threads = 32
// CHECK: %[[T:.*]] = gpu.thread_id x
// CHECK: %[[B:.*]] = gpu.block_id x
// CHECK: memref.subview %{{.*}}[%[[B]], 0] [1, 48]
// CHECK-NOT: gpu.barrier
// CHECK: %[[LANE:.*]] = arith.remui %[[T]], %c16
// CHECK: scf.for %{{.*}} = %[[LANE]] to %c12 step %c16 iter_args(%{{.*}}) -> (vector<4xf32>)
// CHECK: vector.load {{.*}}alignment = 16
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: arith.cmpi ult, %[[T]], %c12
// CHECK: vector.store {{.*}}alignment = 16
// CHECK-NOT: gpu.barrier
// CHECK: return
func.func private @normalize(%x: tensor<4x48xf32>, %y: tensor<4x48xf32>, %begin: index, %end: index) -> tensor<4x48xf32> attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %begin to %end step %c1 iter_args(%out = %y) -> (tensor<4x48xf32>) {
    %row = tensor.extract_slice %x[%i, 0] [1, 48] [1, 1] : tensor<4x48xf32> to tensor<48xf32>
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %sum = linalg.generic {indexing_maps = [#row, #none], iterator_types = ["reduction"]} ins(%row : tensor<48xf32>) outs(%f : tensor<f32>) {
    ^bb0(%a: f32, %acc: f32):
      %s = arith.addf %acc, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %e2 = tensor.empty() : tensor<48xf32>
    %n = linalg.generic {indexing_maps = [#row, #none, #row], iterator_types = ["parallel"]} ins(%row, %sum : tensor<48xf32>, tensor<f32>) outs(%e2 : tensor<48xf32>) {
    ^bb0(%a: f32, %s: f32, %o: f32):
      %d = arith.divf %a, %s : f32
      linalg.yield %d : f32
    } -> tensor<48xf32>
    %next = tensor.insert_slice %n into %out[%i, 0] [1, 48] [1, 1] : tensor<48xf32> into tensor<4x48xf32>
    scf.yield %next : tensor<4x48xf32>
  }
  return %r : tensor<4x48xf32>
}

// Equal accesses, equally spread: a thread reads what it wrote itself, and no one has to meet. Rows of 10 elements are aligned to 8 bytes.
// CHECK-LABEL: func.func private @twice
// CHECK: vector.load {{.*}}alignment = 8 {{.*}}vector<2xf32>
// CHECK-NOT: gpu.barrier
// CHECK: return
func.func private @twice(%x: tensor<4x10xf32>, %y: tensor<4x10xf32>, %z: tensor<4x10xf32>, %begin: index, %end: index) -> (tensor<4x10xf32>, tensor<4x10xf32>) attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %begin to %end step %c1 iter_args(%out = %y, %out2 = %z) -> (tensor<4x10xf32>, tensor<4x10xf32>) {
    %row = tensor.extract_slice %x[%i, 0] [1, 10] [1, 1] : tensor<4x10xf32> to tensor<10xf32>
    %e = tensor.empty() : tensor<10xf32>
    %a = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%row : tensor<10xf32>) outs(%e : tensor<10xf32>) {
    ^bb0(%v: f32, %o: f32):
      %d = math.exp %v : f32
      linalg.yield %d : f32
    } -> tensor<10xf32>
    %e2 = tensor.empty() : tensor<10xf32>
    %b = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%a : tensor<10xf32>) outs(%e2 : tensor<10xf32>) {
    ^bb0(%v: f32, %o: f32):
      %d = arith.mulf %v, %v : f32
      linalg.yield %d : f32
    } -> tensor<10xf32>
    %next = tensor.insert_slice %a into %out[%i, 0] [1, 10] [1, 1] : tensor<10xf32> into tensor<4x10xf32>
    %next2 = tensor.insert_slice %b into %out2[%i, 0] [1, 10] [1, 1] : tensor<10xf32> into tensor<4x10xf32>
    scf.yield %next, %next2 : tensor<4x10xf32>, tensor<4x10xf32>
  }
  return %r#0, %r#1 : tensor<4x10xf32>, tensor<4x10xf32>
}

func.func @run(%a: memref<4x48xf32>, %b: memref<4x48xf32>, %c: memref<4x10xf32>, %d: memref<4x10xf32>, %e: memref<4x10xf32>) attributes {exec.entry} {
  exec.launch @normalize ins(%a : memref<4x48xf32>) outs(%b : memref<4x48xf32>) count = 4 grain = 1 modes(write)
  exec.launch @twice ins(%c : memref<4x10xf32>) outs(%d, %e : memref<4x10xf32>, memref<4x10xf32>) count = 4 grain = 1 modes(write, write)
  return
}

// A sum over 16384 by 512 threads (one at a time: no launch promises an alignment): 32 turns for every thread, eight of them written out, so that eight loads are under way at once.
// CHECK-LABEL: func.func private @turns
// CHECK: scf.for %[[TURN:.*]] = %c0{{.*}} to %c32 step %c1 iter
// CHECK: arith.muli %[[TURN]], %c512
// CHECK: } {loop_annotation = #loop_annotation}
// CHECK: return
func.func private @turns(%x: tensor<4x16384xf32>, %y: tensor<4x16384xf32>, %begin: index, %end: index) -> tensor<4x16384xf32> attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %begin to %end step %c1 iter_args(%out = %y) -> (tensor<4x16384xf32>) {
    %row = tensor.extract_slice %x[%i, 0] [1, 16384] [1, 1] : tensor<4x16384xf32> to tensor<16384xf32>
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %sum = linalg.generic {indexing_maps = [#row, #none], iterator_types = ["reduction"]} ins(%row : tensor<16384xf32>) outs(%f : tensor<f32>) {
    ^bb0(%a: f32, %acc: f32):
      %s = arith.addf %acc, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %e2 = tensor.empty() : tensor<16384xf32>
    %n = linalg.generic {indexing_maps = [#none, #row], iterator_types = ["parallel"]} ins(%sum : tensor<f32>) outs(%e2 : tensor<16384xf32>) {
    ^bb0(%s: f32, %o: f32):
      linalg.yield %s : f32
    } -> tensor<16384xf32>
    %next = tensor.insert_slice %n into %out[%i, 0] [1, 16384] [1, 1] : tensor<16384xf32> into tensor<4x16384xf32>
    scf.yield %next : tensor<4x16384xf32>
  }
  return %r : tensor<4x16384xf32>
}
