// The program of an executable with several versions has nothing but their names and where they are, the plainest first.
// RUN: llm-opt %s "--exec-list-versions=versions=x86-64-v3,x86-64-v4" | FileCheck %s
// RUN: not llm-opt %s --exec-list-versions 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: must be empty, and there must be versions to list

// CHECK-DAG: internal constant @"tessera_version_x86-64-v3"("x86-64-v3\00")
// CHECK-DAG: external constant @"tessera_program_x86-64-v3"()
// CHECK-DAG: external constant @"tessera_program_x86-64-v4"()
// CHECK: internal constant @tessera_versions()
// CHECK: llvm.mlir.addressof @"tessera_version_x86-64-v3"
// CHECK: llvm.mlir.addressof @"tessera_program_x86-64-v3"
// CHECK: llvm.mlir.addressof @"tessera_version_x86-64-v4"
// CHECK: llvm.mlir.addressof @"tessera_program_x86-64-v4"
// CHECK: external constant @tessera_program()
// CHECK: llvm.mlir.addressof @tessera_versions
module {}
