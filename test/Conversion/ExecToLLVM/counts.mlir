// How often a loop runs may be data of the call: its count is read from the call, and the manifest says which counts the loops can take.
// RUN: llm-opt %s --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s

module attributes {exec.arena_bytes = 4096 : i64} {
  // CHECK: llvm.func internal @tessera_entry_f(%{{.*}}: !llvm.ptr, %[[CALL:.*]]: !llvm.ptr)
  // CHECK: %[[FIELD:.*]] = llvm.getelementptr %[[CALL]][%{{.*}}]
  // CHECK: %[[COUNTS:.*]] = llvm.load %[[FIELD]]
  // The loop may run not at all: its test is at its start too.
  // CHECK: %[[COUNT:.*]] = llvm.load %[[COUNTS]] : !llvm.ptr -> i64
  // CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i64)
  // CHECK: %[[ANY:.*]] = llvm.icmp "slt" %[[ZERO]], %[[COUNT]]
  // CHECK: llvm.cond_br %[[ANY]], ^[[BODY:bb[0-9]+]](%[[ZERO]] : i64), ^[[AFTER:bb[0-9]+]]
  // CHECK: ^[[BODY]](%[[I:.*]]: i64):
  // CHECK: %[[AGAIN:.*]] = llvm.icmp "slt" %{{.*}}, %[[COUNT]]
  // CHECK: llvm.cond_br %[[AGAIN]], ^[[BODY]](%{{.*}} : i64), ^[[AFTER]]
  // CHECK: ^[[AFTER]]:
  // The second count is at least 1: no test before it.
  // CHECK: llvm.getelementptr %[[COUNTS]]
  // CHECK: llvm.br
  // Two loops use count 0: it must suit both.
  // CHECK: \22counts\22:[{{\[}}2,5],[1,9]]
  func.func @f() attributes {exec.entry} {
    %a = exec.buffer at 0 : memref<8xf32>
    %b = exec.buffer at 64 : memref<8xf32>
    exec.for %i = call[0] in 0 to 5 step 1 {
      exec.copy %a to %b : memref<8xf32>, memref<8xf32>
    }
    exec.for %i = call[1] in 1 to 9 step 1 {
      exec.copy %b to %a : memref<8xf32>, memref<8xf32>
    }
    exec.for %i = call[0] in 2 to 7 step 1 {
      exec.copy %a to %b : memref<8xf32>, memref<8xf32>
    }
    return
  }
}
