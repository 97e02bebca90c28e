// Every call that gives work names its stream, events are calls, and the manifest says how many there are of each.
// RUN: llm-opt %s --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s
// RUN: llm-opt %s --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s --check-prefix=MANIFEST

module attributes {exec.arena_bytes = 4096 : i64, exec.states = [], exec.streams = ["compute", "communication"]} {
  dist.mesh @mesh = <["x"=2]>
  // MANIFEST: \22events\22:5,
  // MANIFEST-SAME: \22streams\22:[\22compute\22,\22communication\22]

  // CHECK: llvm.func internal @tessera_entry_run(%[[RANK:[^:]*]]: !llvm.ptr
  func.func @run() attributes {exec.entry, exec.inputs = [], exec.outputs = []} {
    %x = exec.buffer at 0 : memref<16xf32>
    %y = exec.buffer at 64 : memref<16xf32>
    // CHECK: %[[COMPUTE:.*]] = llvm.mlir.constant(0 : i32)
    // CHECK: llvm.call @ts_copy(%[[RANK]], %[[COMPUTE]], %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64) -> ()
    exec.copy %x to %y : memref<16xf32>, memref<16xf32>
    // CHECK: %[[STREAM:.*]] = llvm.mlir.constant(0 : i32)
    // CHECK: %[[EVENT:.*]] = llvm.mlir.constant(4 : i32)
    // CHECK: llvm.call @ts_event_record(%[[RANK]], %[[STREAM]], %[[EVENT]]) : (!llvm.ptr, i32, i32) -> ()
    exec.event_record 4
    // CHECK: %[[OTHER:.*]] = llvm.mlir.constant(1 : i32)
    // CHECK: %[[SAME:.*]] = llvm.mlir.constant(4 : i32)
    // CHECK: llvm.call @ts_event_wait(%[[RANK]], %[[OTHER]], %[[SAME]]) : (!llvm.ptr, i32, i32) -> ()
    exec.event_wait 4 stream 1
    // CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
    // CHECK: llvm.call @ts_collective(%[[RANK]], %[[ONE]], %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr) -> ()
    exec.collective all_reduce sum over [#dist.axis_ref<"x">] ins(%y : memref<16xf32>) outs(%y : memref<16xf32>) stream 1
    return
  }
}
