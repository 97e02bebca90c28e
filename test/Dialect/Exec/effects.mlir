// What communicates stays, and in its order, whether or not anybody uses what it gives: others of the group wait for it. A wait has no
// result at all.
// RUN: llm-opt %s --cse --canonicalize | FileCheck %s

dist.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @f
// CHECK: %[[A:.*]] = exec.receive
// CHECK: %[[B:.*]] = exec.send
// CHECK: exec.wait %[[A]]
// CHECK: exec.wait %[[B]]
// CHECK: %[[C:.*]] = exec.collective_start all_gather
// CHECK: exec.wait %[[C]]
// CHECK: exec.collective all_gather
// CHECK: exec.collective all_gather
func.func @f() {
  %x = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<32xf32>
  %part = exec.buffer at 192 : memref<16xf32>
  %s = exec.group_index [#dist.axis_ref<"tp">]
  %a = exec.receive %part from %s over [#dist.axis_ref<"tp">] tag 3 : memref<16xf32>
  %b = exec.send %x to %s over [#dist.axis_ref<"tp">] tag 3 : memref<16xf32>
  exec.wait %a
  exec.wait %b
  %c = exec.collective_start all_gather none over [#dist.axis_ref<"tp">] ins(%x : memref<16xf32>) outs(%y : memref<32xf32>)
  exec.wait %c
  exec.collective all_gather none over [#dist.axis_ref<"tp">] ins(%x : memref<16xf32>) outs(%y : memref<32xf32>)
  exec.collective all_gather none over [#dist.axis_ref<"tp">] ins(%x : memref<16xf32>) outs(%y : memref<32xf32>)
  return
}
