// Where the target has a stream for communication, what ranks exchange goes there; events stand where bytes cross streams, and nowhere else.
// RUN: llm-opt %s --exec-assign-streams=communication --exec-verify-order | FileCheck %s
// RUN: llm-opt %s --exec-assign-streams | FileCheck %s --check-prefix=ONE --implicit-check-not=stream --implicit-check-not=event
// ONE: func.func @beside

// CHECK: module attributes {{.*}}exec.streams = ["compute", "communication"]
module attributes {exec.arena_bytes = 1024 : i64} {
  dist.mesh @mesh = <["tp"=2]>
  graph.parameter @w : tensor<4x16xf32> stacked from [#graph.source<"w.{}", file = [16]>] {exec.local = tensor<4x16xf32>}
  func.func private @k(memref<16xf32>, memref<16xf32>, index, index)
  func.func private @add(memref<16xf32>, memref<16xf32>, memref<16xf32>, index, index)

  // Work that does not need the sum stands between it and the wait.
  // CHECK-LABEL: func.func @beside
  func.func @beside() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
    %x = exec.buffer at 0 : memref<16xf32>
    %y = exec.buffer at 64 : memref<16xf32>
    %t = exec.buffer at 128 : memref<16xf32>
    %s = exec.buffer at 192 : memref<16xf32>
    %u = exec.buffer at 256 : memref<16xf32>
    // CHECK: exec.launch @k
    // CHECK-NEXT: exec.event_record 0{{$}}
    // CHECK-NEXT: exec.event_wait 0 stream 1
    // CHECK-NEXT: exec.collective all_reduce {{.*}} stream 1
    // CHECK-NEXT: exec.event_record 0 stream 1
    // CHECK-NEXT: exec.launch @k
    // CHECK-NEXT: exec.event_wait 0{{$}}
    // CHECK-NEXT: exec.launch @add
    // CHECK-NEXT: return
    exec.launch @k ins(%x : memref<16xf32>) outs(%t : memref<16xf32>) count = 1 grain = 1 modes(write)
    exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%t : memref<16xf32>) outs(%s : memref<16xf32>)
    exec.launch @k ins(%x : memref<16xf32>) outs(%u : memref<16xf32>) count = 1 grain = 1 modes(write)
    exec.launch @add ins(%s, %u : memref<16xf32>, memref<16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
    return
  }

  // Two collectives one after another need no event between them, and only the last one is waited for.
  // CHECK-LABEL: func.func @chain
  func.func @chain() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
    %x = exec.buffer at 0 : memref<16xf32>
    %y = exec.buffer at 64 : memref<16xf32>
    %s = exec.buffer at 192 : memref<16xf32>
    %u = exec.buffer at 256 : memref<16xf32>
    // What fills the input ran on stream 0 before the call.
    // CHECK: exec.event_record 0{{$}}
    // CHECK: exec.event_wait 0 stream 1
    // CHECK-NEXT: exec.collective {{.*}} stream 1
    // CHECK-NEXT: exec.collective {{.*}} stream 1
    // CHECK-NEXT: exec.event_record 0 stream 1
    // CHECK-NEXT: exec.event_wait 0{{$}}
    // CHECK-NEXT: exec.launch @add
    // CHECK-NEXT: return
    exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%x : memref<16xf32>) outs(%s : memref<16xf32>)
    exec.collective all_reduce max over [#dist.axis_ref<"tp">] ins(%s : memref<16xf32>) outs(%u : memref<16xf32>)
    exec.launch @add ins(%s, %u : memref<16xf32>, memref<16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
    return
  }

  // In a loop: a gather reads a parameter, which no round writes, and writes a place that the round before still reads. The gather of a round waits for
  // that read alone; in the first round the event says that the call has begun.
  // CHECK-LABEL: func.func @rounds
  func.func @rounds() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<32xf32>}]} {
    %y = exec.buffer at 64 : memref<32xf32>
    %s = exec.buffer at 256 : memref<32xf32>
    %w = exec.param @w : memref<4x16xf32>
    // CHECK: exec.event_record 0{{$}}
    // CHECK-NEXT: exec.for
    exec.for %i = 4 step 1 {
      %layer = exec.layer %w[%i] : memref<4x16xf32> -> memref<16xf32>
      // CHECK: exec.event_wait 0 stream 1
      // CHECK-NEXT: exec.collective all_gather {{.*}} stream 1
      // CHECK-NEXT: exec.event_record 1 stream 1
      // CHECK-NEXT: exec.event_wait 1{{$}}
      // CHECK-NEXT: exec.copy
      // CHECK-NEXT: exec.event_record 0{{$}}
      // CHECK-NEXT: }
      exec.collective all_gather none over [#dist.axis_ref<"tp">] ins(%layer : memref<16xf32>) outs(%s : memref<32xf32>)
      exec.copy %s to %y : memref<32xf32>, memref<32xf32>
    }
    // CHECK-NEXT: return
    return
  }

  // What is started goes to the stream of communication, who waits stays where it computes: the wait orders, no event does.
  // CHECK-LABEL: func.func @started
  func.func @started() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
    %x = exec.buffer at 0 : memref<16xf32>
    %y = exec.buffer at 64 : memref<16xf32>
    // CHECK: exec.event_record 0{{$}}
    // CHECK: exec.event_wait 0 stream 1
    // CHECK-NEXT: exec.collective_start {{.*}} stream 1
    // CHECK-NEXT: exec.wait %{{[0-9]+$}}
    // CHECK-NEXT: return
    %t = exec.collective_start all_reduce sum over [#dist.axis_ref<"tp">] ins(%x : memref<16xf32>) outs(%y : memref<16xf32>)
    exec.wait %t
    return
  }
}
