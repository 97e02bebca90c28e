// How often a loop runs may be data of the call: its count is read from the call, and the manifest says which counts the loops can take.
// RUN: llm-opt %s --split-input-file --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s

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

// -----

// A flag is read where the host comes to it; the body runs, or its block is passed over.
// CHECK: llvm.func internal @tessera_entry_g
// CHECK: %[[FLAG:.*]] = llvm.call @ts_read_flag(%{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, i32, !llvm.ptr) -> i64
// CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i64)
// CHECK: %[[REST:.*]] = llvm.sub %[[ONE]], %[[FLAG]]
// CHECK: %[[ANY:.*]] = llvm.icmp "slt" %{{.*}}, %[[FLAG]]
// CHECK: llvm.cond_br %[[ANY]]
// CHECK: llvm.call @ts_copy
// CHECK: %[[NOT:.*]] = llvm.icmp "slt" %{{.*}}, %[[REST]]
// CHECK: llvm.cond_br %[[NOT]]
module attributes {exec.arena_bytes = 4096 : i64} {
  func.func @g() attributes {exec.entry} {
    %a = exec.buffer at 0 : memref<8xf32>
    %b = exec.buffer at 64 : memref<8xf32>
    %c = exec.buffer at 128 : memref<i1>
    %n = exec.read_flag %c : memref<i1>
    %m = exec.index_offset %n, 1 reverse
    exec.for %i = number(%n) in 0 to 1 step 1 {
      exec.copy %a to %b : memref<8xf32>, memref<8xf32>
    }
    exec.for %i = number(%m) in 0 to 1 step 1 {
      exec.copy %b to %a : memref<8xf32>, memref<8xf32>
    }
    return
  }
}
