// RUN: llm-opt %s --bufferize-kernels --canonicalize --cse --canonicalize --split-input-file --verify-diagnostics | FileCheck %s
// RUN: llm-opt %s --bufferize-kernels --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=ITSELF

#id = affine_map<(d0, d1) -> (d0, d1)>

// The row is computed where it belongs: no copy, no allocation.
// CHECK-LABEL: func @exp(
// CHECK-SAME: %[[A:.*]]: memref<8x64xf32>, %[[OUT:.*]]: memref<8x64xf32> {tessera.output}, %{{.*}}: index, %{{.*}}: index)
// CHECK-NOT: memref.alloc
// CHECK: scf.for %[[I:.*]] =
// CHECK-DAG: %[[X:.*]] = memref.subview %[[A]][%[[I]], 0]
// CHECK-DAG: %[[Y:.*]] = memref.subview %[[OUT]][%[[I]], 0]
// CHECK: linalg.generic {{.*}} ins(%[[X]] {{.*}} outs(%[[Y]]
// CHECK-NOT: memref.copy
// CHECK: return
func.func @exp(%a: tensor<8x64xf32>, %out: tensor<8x64xf32>, %begin: index, %end: index) -> tensor<8x64xf32> attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %begin to %end step %c1 iter_args(%o = %out) -> (tensor<8x64xf32>) {
    %x = tensor.extract_slice %a[%i, 0][1, 64][1, 1] : tensor<8x64xf32> to tensor<1x64xf32>
    %e = tensor.empty() : tensor<1x64xf32>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<1x64xf32>) outs(%e : tensor<1x64xf32>) {
    ^bb0(%v: f32, %u: f32):
      %z = math.exp %v : f32
      linalg.yield %z : f32
    } -> tensor<1x64xf32>
    %n = tensor.insert_slice %y into %o[%i, 0][1, 64][1, 1] : tensor<1x64xf32> into tensor<8x64xf32>
    scf.yield %n : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// The output is the buffer of input 0, and the old row is read after the new one is known: reads go through the output,
// so bufferization sees the conflict and keeps a copy of the row (not of the buffer).
// CHECK-LABEL: func @inplace(
// CHECK-SAME: %[[A:.*]]: memref<8x64xf32>, %[[OUT:.*]]: memref<8x64xf32> {tessera.output}, %[[TWO:.*]]: memref<8x64xf32> {tessera.output}
// CHECK: scf.for
// CHECK: %[[ROW:.*]] = memref.subview %[[OUT]]
// CHECK: %[[KEEP:.*]] = memref.alloc() {{.*}} : memref<1x64xf32>
// CHECK: memref.copy %[[ROW]], %[[KEEP]]
// CHECK: linalg.generic {{.*}} ins(%[[KEEP]] {{.*}} outs(%[[ROW]]
// CHECK-NOT: memref.subview %[[A]]
// CHECK: return
func.func @inplace(%a: tensor<8x64xf32>, %out: tensor<8x64xf32> {tessera.inplace = 0 : i64}, %two: tensor<8x64xf32>, %begin: index,
                   %end: index) -> (tensor<8x64xf32>, tensor<8x64xf32>) attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %begin to %end step %c1 iter_args(%o = %out, %p = %two) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %x = tensor.extract_slice %a[%i, 0][1, 64][1, 1] : tensor<8x64xf32> to tensor<1x64xf32>
    %e = tensor.empty() : tensor<1x64xf32>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<1x64xf32>) outs(%e : tensor<1x64xf32>) {
    ^bb0(%v: f32, %u: f32):
      %z = math.exp %v : f32
      linalg.yield %z : f32
    } -> tensor<1x64xf32>
    %n = tensor.insert_slice %y into %o[%i, 0][1, 64][1, 1] : tensor<1x64xf32> into tensor<8x64xf32>
    %m = tensor.insert_slice %x into %p[%i, 0][1, 64][1, 1] : tensor<1x64xf32> into tensor<8x64xf32>
    scf.yield %n, %m : tensor<8x64xf32>, tensor<8x64xf32>
  }
  return %r#0, %r#1 : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// expected-error @below {{argument 1 of kernel 'wrong' is in place of argument 0, which is not an earlier argument of the same type}}
func.func @wrong(%a: tensor<4xf32>, %out: tensor<8xf32> {tessera.inplace = 0 : i64}, %b: index, %e: index) -> tensor<8xf32> attributes {tessera.kernel} {
  return %out : tensor<8xf32>
}

// -----

// expected-error @below {{argument 0 of kernel 'dynamic' has type 'tensor<?xf32>', not a tensor of static shape}}
func.func @dynamic(%a: tensor<?xf32>, %b: index, %e: index) attributes {tessera.kernel} {
  return
}

// -----

// expected-error @below {{argument 1 of kernel 'scalar' has type 'f32'; kernels take tensors, then indices}}
func.func @scalar(%a: tensor<8xf32>, %x: f32, %b: index, %e: index) attributes {tessera.kernel} {
  return
}

// -----

// expected-error @below {{kernel 'norange' needs an output argument for each result and two index arguments for its range}}
func.func @norange(%a: tensor<8xf32>, %b: index) -> tensor<8xf32> attributes {tessera.kernel} {
  return %a : tensor<8xf32>
}

// -----

// A table is a global, read where it lies.
// CHECK: memref.global "private" constant @[[TABLE:.*]] : memref<4xf32> = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// CHECK-LABEL: func @table(
// CHECK: %[[T:.*]] = memref.get_global @[[TABLE]]
// CHECK-NOT: memref.alloc
// CHECK: memref.load %[[T]]
func.func @table(%out: tensor<8xf32>, %begin: index, %end: index) -> tensor<8xf32> attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %t = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %r = scf.for %i = %begin to %end step %c1 iter_args(%o = %out) -> (tensor<8xf32>) {
    %j = arith.remui %i, %c4 : index
    %x = tensor.extract %t[%j] : tensor<4xf32>
    %n = tensor.insert %x into %o[%i] : tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

// Of two branches one runs: both write the output itself.
// CHECK-LABEL: func @branches(
// CHECK-NOT: memref.alloc
// CHECK: scf.if
// CHECK: linalg.copy {{.*}} outs(%arg1
// CHECK: else
// CHECK: linalg.fill {{.*}} outs(%arg1
// CHECK: return
func.func @branches(%x: tensor<8x64xf32>, %out: tensor<8x64xf32>, %begin: index, %end: index) -> tensor<8x64xf32> attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %first = arith.cmpi eq, %begin, %c0 : index
  %r = scf.if %first -> (tensor<8x64xf32>) {
    %copy = linalg.copy ins(%x : tensor<8x64xf32>) outs(%out : tensor<8x64xf32>) -> tensor<8x64xf32>
    scf.yield %copy : tensor<8x64xf32>
  } else {
    %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<8x64xf32>) -> tensor<8x64xf32>
    scf.yield %fill : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}

// -----

// One branch writes a row of what the loop carries, the other leaves it as it is: both are the output.
// CHECK-LABEL: func @row_or_nothing(
// CHECK-SAME: %[[X:.*]]: memref<8x64xf32>, %[[OUT:.*]]: memref<8x64xf32> {tessera.output}
// CHECK-NOT: memref.alloc
// CHECK: scf.for
// CHECK: scf.if
// CHECK: memref.copy %{{.*}}, %{{.*}} : memref<1x64xf32
// CHECK-NOT: memref.copy
// CHECK: return
// Nor is it copied to itself until somebody sees that.
// ITSELF-LABEL: func @row_or_nothing(
// ITSELF: %[[NEW:.*]] = scf.if
// ITSELF-NOT: memref.copy %[[NEW]]
// ITSELF: return
func.func @row_or_nothing(%x: tensor<8x64xf32>, %out: tensor<8x64xf32>, %begin: index, %end: index) -> tensor<8x64xf32> attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %r = scf.for %i = %begin to %end step %c1 iter_args(%o = %out) -> (tensor<8x64xf32>) {
    %inside = arith.cmpi ult, %i, %c2 : index
    %new = scf.if %inside -> (tensor<8x64xf32>) {
      %row = tensor.extract_slice %x[%i, 0][1, 64][1, 1] : tensor<8x64xf32> to tensor<1x64xf32>
      %n = tensor.insert_slice %row into %o[%i, 0][1, 64][1, 1] : tensor<1x64xf32> into tensor<8x64xf32>
      scf.yield %n : tensor<8x64xf32>
    } else {
      scf.yield %o : tensor<8x64xf32>
    }
    scf.yield %new : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}

// -----

// Iterations of two loops in one: a branch that makes all of an output writes it there, and only there. What a loop inside a branch fills
// is a temporary, whose rows the outer loop's other iterations do not touch.
// CHECK-LABEL: func @two_loops(
// CHECK-SAME: %[[X:.*]]: memref<6xf32>, %[[Y:.*]]: memref<3xf32>, %[[OUT0:.*]]: memref<9xf32> {tessera.output}, %[[OUT1:.*]]: memref<6xf32> {tessera.output}
// CHECK: scf.for
// CHECK: scf.if
// CHECK-NOT: memref.alloc
// CHECK: memref.subview %[[OUT0]]
// CHECK: } else {
// CHECK: %[[REVERSED:.*]] = memref.alloc
// CHECK: scf.for
// CHECK: memref.copy %{{.*}} : memref<1xf32
// CHECK: memref.copy %[[REVERSED]], %[[OUT1]]
// CHECK: return
func.func @two_loops(%x: tensor<6xf32>, %y: tensor<3xf32>, %out0: tensor<9xf32>, %out1: tensor<6xf32>, %begin: index, %end: index)
    -> (tensor<9xf32>, tensor<6xf32>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %r:2 = scf.for %i = %begin to %end step %c1 iter_args(%o0 = %out0, %o1 = %out1) -> (tensor<9xf32>, tensor<6xf32>) {
    %first = arith.cmpi ult, %i, %c1 : index
    %both:2 = scf.if %first -> (tensor<9xf32>, tensor<6xf32>) {
      %e = tensor.empty() : tensor<9xf32>
      %a = tensor.insert_slice %x into %e[0][6][1] : tensor<6xf32> into tensor<9xf32>
      %b = tensor.insert_slice %y into %a[6][3][1] : tensor<3xf32> into tensor<9xf32>
      scf.yield %b, %o1 : tensor<9xf32>, tensor<6xf32>
    } else {
      %e = tensor.empty() : tensor<6xf32>
      %reversed = scf.for %j = %c0 to %c6 step %c1 iter_args(%acc = %e) -> (tensor<6xf32>) {
        %from = arith.subi %c5, %j : index
        %one = tensor.extract_slice %x[%from][1][1] : tensor<6xf32> to tensor<1xf32>
        %next = tensor.insert_slice %one into %acc[%j][1][1] : tensor<1xf32> into tensor<6xf32>
        scf.yield %next : tensor<6xf32>
      }
      scf.yield %o0, %reversed : tensor<9xf32>, tensor<6xf32>
    }
    scf.yield %both#0, %both#1 : tensor<9xf32>, tensor<6xf32>
  }
  return %r#0, %r#1 : tensor<9xf32>, tensor<6xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// One value that is two outputs, of a branch that may not run: made in the first one, and copied from there.
// CHECK-LABEL: func @twice(
// CHECK-SAME: %[[X:.*]]: memref<6xf32>, %[[OUT0:.*]]: memref<6xf32> {tessera.output}, %[[OUT1:.*]]: memref<6xf32> {tessera.output}
// CHECK: scf.if
// CHECK: linalg.generic {{.*}} ins(%[[X]] : memref<6xf32>) outs(%[[OUT0]] : memref<6xf32>)
// CHECK: memref.copy %[[OUT0]], %[[OUT1]]
// CHECK-NOT: memref.copy
// CHECK: return
func.func @twice(%x: tensor<6xf32>, %out0: tensor<6xf32>, %out1: tensor<6xf32>, %begin: index, %end: index) -> (tensor<6xf32>, tensor<6xf32>) attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %begin to %end step %c1 iter_args(%o0 = %out0, %o1 = %out1) -> (tensor<6xf32>, tensor<6xf32>) {
    %first = arith.cmpi ult, %i, %c1 : index
    %both:2 = scf.if %first -> (tensor<6xf32>, tensor<6xf32>) {
      %e = tensor.empty() : tensor<6xf32>
      %y = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%x : tensor<6xf32>) outs(%e : tensor<6xf32>) {
      ^bb0(%v: f32, %u: f32):
        %z = math.exp %v : f32
        linalg.yield %z : f32
      } -> tensor<6xf32>
      scf.yield %y, %y : tensor<6xf32>, tensor<6xf32>
    } else {
      scf.yield %o0, %o1 : tensor<6xf32>, tensor<6xf32>
    }
    scf.yield %both#0, %both#1 : tensor<6xf32>, tensor<6xf32>
  }
  return %r#0, %r#1 : tensor<6xf32>, tensor<6xf32>
}

// -----

#all = affine_map<(d0) -> (d0)>

// A whole output that is updated, and read by what makes another one: the sum that goes there begins in a place of its own, as long as it is read.
// CHECK-LABEL: func @updates_whole(
// CHECK-SAME: %[[X:.*]]: memref<6xf32>, %[[OUT0:.*]]: memref<6xf32> {tessera.output}, %[[OUT1:.*]]: memref<6xf32> {tessera.output}
// CHECK: %[[ZEROS:.*]] = memref.alloc
// CHECK: linalg.fill {{.*}} outs(%[[ZEROS]]
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[OUT1]] {{.*}} outs(%[[OUT0]], %[[ZEROS]]
// CHECK: memref.copy %[[ZEROS]], %[[OUT1]]
// CHECK: return
func.func @updates_whole(%x: tensor<6xf32>, %out0: tensor<6xf32>, %out1: tensor<6xf32>, %begin: index, %end: index) -> (tensor<6xf32>, tensor<6xf32>) attributes {tessera.kernel} {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<6xf32>
  %e1 = tensor.empty() : tensor<6xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e1 : tensor<6xf32>) -> tensor<6xf32>
  %r:2 = linalg.generic {indexing_maps = [#all, #all, #all, #all], iterator_types = ["parallel"]}
      ins(%x, %out1 : tensor<6xf32>, tensor<6xf32>) outs(%e0, %zeros : tensor<6xf32>, tensor<6xf32>) {
  ^bb0(%a: f32, %b: f32, %u: f32, %sum: f32):
    %c = arith.addf %a, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %c, %d : f32, f32
  } -> (tensor<6xf32>, tensor<6xf32>)
  return %r#0, %r#1 : tensor<6xf32>, tensor<6xf32>
}

// -----

#all = affine_map<(d0) -> (d0)>

// One value that is two outputs, and has the place of the first already.
// CHECK-LABEL: func @updates_for_two(
// CHECK-SAME: %[[X:.*]]: memref<6xf32>, %[[OUT0:.*]]: memref<6xf32> {tessera.output}, %[[OUT1:.*]]: memref<6xf32> {tessera.output}
// CHECK: linalg.generic {{.*}} ins(%[[X]] : memref<6xf32>) outs(%[[OUT0]] : memref<6xf32>)
// CHECK: memref.copy %[[OUT0]], %[[OUT1]]
// CHECK-NEXT: return
func.func @updates_for_two(%x: tensor<6xf32>, %out0: tensor<6xf32>, %out1: tensor<6xf32>, %begin: index, %end: index) -> (tensor<6xf32>, tensor<6xf32>) attributes {tessera.kernel} {
  %r = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel"]} ins(%x : tensor<6xf32>) outs(%out0 : tensor<6xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %c = arith.addf %a, %sum : f32
    linalg.yield %c : f32
  } -> tensor<6xf32>
  return %r, %r : tensor<6xf32>, tensor<6xf32>
}
