// Versions of one program are linked together: the program of each, and of the stages of a pipeline, has the version's name behind its own, and functions are to be seen from inside alone.
// RUN: llm-opt %s --split-input-file "--exec-name-version=version=x86-64-v3" | FileCheck %s
// RUN: not llm-opt %s --split-input-file --exec-name-version 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: has no version to be named after

// CHECK: llvm.func internal @decode(
// CHECK: llvm.func @ts_launch(
// CHECK: internal constant @table()
// CHECK: llvm.mlir.global external constant @"tessera_program_x86-64-v3"()
// CHECK-NEXT: llvm.mlir.addressof @table
llvm.func @decode(%rank: !llvm.ptr) { llvm.return }
llvm.func @ts_launch(!llvm.ptr)
llvm.mlir.global internal constant @table() : !llvm.ptr {
  %0 = llvm.mlir.addressof @decode : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
llvm.mlir.global external constant @tessera_program() : !llvm.ptr {
  %0 = llvm.mlir.addressof @table : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}

// -----

// CHECK: module @p0
// CHECK: llvm.mlir.global external constant @"tessera_program_p0_x86-64-v3"()
// CHECK: llvm.mlir.global external constant @"tessera_program_p0_x86-64-v3"()
// CHECK: llvm.mlir.global external constant @"tessera_program_x86-64-v3"()
// CHECK-NEXT: llvm.mlir.addressof @"tessera_program_p0_x86-64-v3"
module @p0 {
  llvm.mlir.global external constant @tessera_program_p0() : !llvm.ptr {
    %0 = llvm.mlir.zero : !llvm.ptr
    llvm.return %0 : !llvm.ptr
  }
}
llvm.mlir.global external constant @tessera_program_p0() : !llvm.ptr
llvm.mlir.global external constant @tessera_program() : !llvm.ptr {
  %0 = llvm.mlir.addressof @tessera_program_p0 : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
