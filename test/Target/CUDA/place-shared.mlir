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
