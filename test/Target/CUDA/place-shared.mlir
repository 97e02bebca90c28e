// Temporaries lie side by side in a block's shared memory, each aligned to 64 bytes; what does not fit is an error.
// RUN: llm-opt %s --cuda-place-shared -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func private @small
// CHECK-SAME: tessera.shared_bytes = 192
// CHECK: memref.alloc() {tessera.shared_offset = 0 : i64} : memref<3xi8>
// CHECK: memref.alloc() {tessera.shared_offset = 64 : i64} : memref<17xf32>
func.func private @small(%begin: index, %end: index) attributes {tessera.kernel} {
  %a = memref.alloc() : memref<3xi8>
  %b = memref.alloc() : memref<17xf32>
  return
}

// -----

// CHECK-LABEL: func.func private @fits
func.func private @fits(%begin: index, %end: index) attributes {tessera.kernel} {
  %a = memref.alloc() : memref<25344xf32>
  return
}

// -----

// expected-error @+1 {{kernel 'large' keeps 101440 bytes of temporaries in a block; a block has 101376 bytes of shared memory}}
func.func private @large(%begin: index, %end: index) attributes {tessera.kernel} {
  %a = memref.alloc() : memref<25344xf32>
  %b = memref.alloc() : memref<1xi8>
  return
}

// -----

// One block takes one branch: both have their temporaries in one place. What stands behind them has a place of its own.
// CHECK-LABEL: func.func private @branches
// CHECK-SAME: tessera.shared_bytes = 384
// CHECK: shared_offset = 0 : i64} : memref<1xf32>
// CHECK: shared_offset = 64 : i64} : memref<64xf32>
// CHECK: shared_offset = 64 : i64} : memref<16xf32>
// CHECK: shared_offset = 128 : i64} : memref<32xf32>
// CHECK: shared_offset = 128 : i64} : memref<48xf32>
// CHECK: shared_offset = 320 : i64} : memref<2xf32>
func.func private @branches(%first: i1, %second: i1, %begin: index, %end: index) attributes {tessera.kernel} {
  %a = memref.alloc() : memref<1xf32>
  scf.if %first {
    %b = memref.alloc() : memref<64xf32>
  } else {
    %c = memref.alloc() : memref<16xf32>
    scf.if %second {
      %d = memref.alloc() : memref<32xf32>
    } else {
      %e = memref.alloc() : memref<48xf32>
    }
  }
  %f = memref.alloc() : memref<2xf32>
  return
}

// -----

// Rounds of a loop take either, and threads need not meet between them.
// CHECK-LABEL: func.func private @rounds
// CHECK: shared_offset = 0 : i64} : memref<64xf32>
// CHECK: shared_offset = 256 : i64} : memref<16xf32>
func.func private @rounds(%first: i1, %begin: index, %end: index) attributes {tessera.kernel} {
  %one = arith.constant 1 : index
  scf.for %i = %begin to %end step %one {
    scf.if %first {
      %b = memref.alloc() : memref<64xf32>
    } else {
      %c = memref.alloc() : memref<16xf32>
    }
  }
  return
}
