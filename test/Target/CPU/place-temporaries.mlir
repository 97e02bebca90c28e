// RUN: llm-opt %s --cpu-place-temporaries=stack-limit=1024 --split-input-file --verify-diagnostics | FileCheck %s

// Two tiles fit the stack, the largest is allocated once per call.
// CHECK-LABEL: func @tiles
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<64xf32>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<100xf32>
// CHECK-DAG: %[[BIG:.*]] = memref.alloc() {alignment = 64 : i64} : memref<1000xf32>
// CHECK: scf.for
// CHECK-NOT: memref.alloc
// CHECK: memref.dealloc %[[BIG]]
// CHECK-NEXT: return
func.func @tiles(%a: memref<8xf32>, %b: index, %e: index) attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  scf.for %i = %b to %e step %c1 {
    %big = memref.alloc() : memref<1000xf32>
    %x = memref.alloc() : memref<64xf32>
    %y = memref.alloc() : memref<100xf32>
    memref.store %f, %big[%i] : memref<1000xf32>
    memref.store %f, %x[%i] : memref<64xf32>
    memref.store %f, %y[%i] : memref<100xf32>
  }
  return
}

// -----

func.func @dynamic(%a: memref<8xf32>, %b: index, %e: index) attributes {tessera.kernel} {
  // expected-error @below {{kernel 'dynamic' has a temporary of type 'memref<?xf32>'; tiles must have static shapes}}
  %x = memref.alloc(%b) : memref<?xf32>
  return
}

// -----

func.func @copied(%out: memref<8xf32> {tessera.output}, %b: index, %e: index) attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %b to %e step %c1 {
    %x = memref.alloc() : memref<8xf32>
    // expected-error @below {{kernel 'copied' needs a private copy of output argument 0: an iteration reads what another writes}}
    memref.copy %out, %x : memref<8xf32> to memref<8xf32>
  }
  return
}

// -----

// One iteration, which does not look at its range: nobody else writes the output.
// CHECK-LABEL: func @one_iteration
// CHECK: %[[X:.*]] = memref.alloca() {alignment = 64 : i64} : memref<8xf32>
// CHECK: memref.copy %{{.*}}, %[[X]]
func.func @one_iteration(%out: memref<8xf32> {tessera.output}, %b: index, %e: index) attributes {tessera.kernel} {
  %x = memref.alloc() : memref<8xf32>
  memref.copy %out, %x : memref<8xf32> to memref<8xf32>
  return
}

// -----

// Each of them would fit the stack, all together do not: the last goes to the heap.
// CHECK-LABEL: func @together
// CHECK-COUNT-2: memref.alloca() {alignment = 64 : i64} : memref<112xf32>
// CHECK-NOT: memref.alloca()
// CHECK: return
func.func @together(%a: memref<8xf32>, %b: index, %e: index) attributes {tessera.kernel} {
  %f = arith.constant 1.0 : f32
  %x = memref.alloc() : memref<112xf32>
  %y = memref.alloc() : memref<112xf32>
  %z = memref.alloc() : memref<112xf32>
  memref.store %f, %x[%b] : memref<112xf32>
  memref.store %f, %y[%b] : memref<112xf32>
  memref.store %f, %z[%b] : memref<112xf32>
  return
}
