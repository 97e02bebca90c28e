// Work on streams and events, printed as they are read. Events stay, in their order, though nobody uses them.
// RUN: llm-opt %s --cse --canonicalize | llm-opt | FileCheck %s

dist.mesh @mesh = <["tp"=2]>
graph.parameter @v : tensor<16x8xf32> variable from [#graph.source<"v", file = [16, 8]>]
graph.parameter @embed : tensor<32x8xf32> from [#graph.source<"e", file = [32, 8]>]
func.func private @scale(memref<2x8xf32>, memref<2x8xf32>, index, index)

// CHECK-LABEL: func.func @f
func.func @f() {
  %ids = exec.buffer at 0 : memref<2xi32>
  %a = exec.buffer at 64 : memref<2x8xf32>
  %b = exec.buffer at 128 : memref<2x8xf32>
  %y = exec.buffer at 192 : memref<2x16xf32>
  // CHECK: exec.event_record 3{{$}}
  exec.event_record 3
  // CHECK: exec.event_wait 3 stream 1
  exec.event_wait 3 stream 1
  // CHECK: exec.event_wait 3{{$}}
  exec.event_wait 3
  // CHECK: exec.gather_packed @embed {{.*}} stream 1{{$}}
  exec.gather_packed @embed ins(%ids : memref<2xi32>) outs(%a : memref<2x8xf32>) stream 1
  // CHECK: exec.launch @scale {{.*}} modes(write) stream 2{{$}}
  exec.launch @scale ins(%a : memref<2x8xf32>) outs(%b : memref<2x8xf32>) count = 2 grain = 1 modes(write) stream 2
  // CHECK: exec.copy %{{.*}} to %{{.*}} stream 1 : memref<2x8xf32>, memref<2x8xf32>
  exec.copy %b to %a stream 1 : memref<2x8xf32>, memref<2x8xf32>
  // CHECK: exec.pack @v stream 1
  exec.pack @v stream 1
  // CHECK: exec.matmul {{.*}} packed @v outs(%{{.*}} : memref<2x16xf32>) stream 1{{$}}
  exec.matmul m = 2 n = 16 k = 8 ins(%a : memref<2x8xf32>) packed @v outs(%y : memref<2x16xf32>) stream 1
  // CHECK: exec.collective all_reduce sum {{.*}} stream 1 {why = "down"}
  exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%a : memref<2x8xf32>) outs(%a : memref<2x8xf32>) stream 1 {why = "down"}
  %self = exec.group_index [#dist.axis_ref<"tp">]
  %other = exec.index_offset %self, 1 reverse
  // CHECK: exec.collective_start all_gather {{.*}} stream 1{{$}}
  %t = exec.collective_start all_gather none over [#dist.axis_ref<"tp">] ins(%a : memref<2x8xf32>) outs(%y : memref<2x16xf32>) stream 1
  // CHECK: exec.send {{.*}} tag 7 stream 1 : memref<2x8xf32>
  %s = exec.send %a to %other over [#dist.axis_ref<"tp">] tag 7 stream 1 : memref<2x8xf32>
  // CHECK: exec.receive {{.*}} tag 7 stream 1 : memref<2x8xf32>
  %r = exec.receive %b from %other over [#dist.axis_ref<"tp">] tag 7 stream 1 : memref<2x8xf32>
  // CHECK: exec.wait %{{.*}} stream 1
  exec.wait %t stream 1
  exec.wait %s
  exec.wait %r
  return
}
