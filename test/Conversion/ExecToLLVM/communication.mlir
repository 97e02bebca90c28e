// What is started and waited for, and messages, are calls of the runtime; a token is a number. The manifest describes what starts like what does both.
// RUN: llm-opt %s --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s
// RUN: llm-opt %s --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s --check-prefix=MANIFEST

module attributes {exec.arena_bytes = 4096 : i64, exec.states = []} {
  dist.mesh @mesh = <["x"=1024, "y"=1024]>

  // CHECK: llvm.func internal @tessera_entry_run(%[[RANK:[^:]*]]: !llvm.ptr
  // CHECK: %[[GATHER:.*]] = llvm.call @ts_collective_start(%[[RANK]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr) -> i64
  // CHECK: %[[SENT:.*]] = llvm.call @ts_send(%[[RANK]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, i32, i32, i64, i64, !llvm.ptr, i64) -> i64
  // CHECK: %[[CAME:.*]] = llvm.call @ts_receive(%[[RANK]]
  // CHECK: llvm.call @ts_collective_wait(%[[RANK]], %{{.*}}, %[[CAME]]) : (!llvm.ptr, i32, i64) -> ()
  // CHECK: llvm.call @ts_collective_wait(%[[RANK]], %{{.*}}, %[[SENT]])
  // CHECK: llvm.call @ts_collective_wait(%[[RANK]], %{{.*}}, %[[GATHER]])

  // A permutation of 2^20 ranks takes no more room than one of two.
  // MANIFEST: \22elements\22:16,\22group\22:0,\22kind\22:\22all_gather\22,\22op\22:\22none\22
  // MANIFEST-SAME: \22from\22:[{{\[\[}}\22x\22,1,1024]]],\22group\22:1,\22kind\22:\22collective_permute\22,\22op\22:\22none\22,\22to\22:[{{\[\[}}\22y\22,1,1024]]]
  // MANIFEST-SAME: \22calls\22:[{\22calls\22:[{\22do\22:\22start\22,\22id\22:0},{\22do\22:\22send\22},{\22do\22:\22receive\22},{\22do\22:\22wait\22},{\22do\22:\22wait\22},{\22do\22:\22wait\22}],\22loop\22:3,\22step\22:1},{\22do\22:\22collective\22,\22id\22:1}]
  // MANIFEST-SAME: \22executions\22:3,\22id\22:0
  func.func @run() attributes {exec.entry, exec.inputs = [], exec.outputs = []} {
    %x = exec.buffer at 0 : memref<16xf32>
    %z = exec.buffer at 64 : memref<16xf32>
    %y = exec.buffer at 128 : memref<1024x16xf32>
    %s = exec.group_index [#dist.axis_ref<"x">]
    %n = exec.index_offset %s, 1
    exec.for %i = 3 step 1 {
      %g = exec.collective_start all_gather none over [#dist.axis_ref<"x">] ins(%x : memref<16xf32>) outs(%y : memref<1024x16xf32>)
      %t = exec.send %x to %n over [#dist.axis_ref<"x">] tag 5 : memref<16xf32>
      %r = exec.receive %z from %n over [#dist.axis_ref<"x">] tag 5 : memref<16xf32>
      exec.wait %r
      exec.wait %t
      exec.wait %g
    }
    exec.collective collective_permute none over [#dist.axis_ref<"x">, #dist.axis_ref<"y">] ins(%x : memref<16xf32>) outs(%z : memref<16xf32>)
        {from = #dist.sharding<@mesh, [{"x"}], global=[16384]>, to = #dist.sharding<@mesh, [{"y"}], global=[16384]>}
    return
  }
}
