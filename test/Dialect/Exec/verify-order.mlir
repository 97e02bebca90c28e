// What streams and events must order, one program for each rule.
// RUN: llm-opt %s --split-input-file --verify-diagnostics --exec-verify-order

// A value crosses to the other stream and comes back, each time by an event; the other stream is waited for at the end.
module attributes {exec.arena_bytes = 256 : i64, exec.streams = ["compute", "communication"]} {
  func.func @good() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<4xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<4xf32>}]} {
    %x = exec.buffer at 0 : memref<4xf32>
    %y = exec.buffer at 64 : memref<4xf32>
    %t = exec.buffer at 128 : memref<4xf32>
    %u = exec.buffer at 192 : memref<4xf32>
    exec.copy %x to %t : memref<4xf32>, memref<4xf32>
    exec.event_record 0
    exec.event_wait 0 stream 1
    exec.copy %t to %u stream 1 : memref<4xf32>, memref<4xf32>
    exec.event_record 0 stream 1
    exec.event_wait 0
    exec.copy %u to %y : memref<4xf32>, memref<4xf32>
    return
  }
}

// -----

module attributes {exec.arena_bytes = 192 : i64, exec.streams = ["compute", "communication"]} {
  func.func @not_waited_for() attributes {exec.entry} {
    %x = exec.buffer at 0 : memref<4xf32>
    %y = exec.buffer at 64 : memref<4xf32>
    %t = exec.buffer at 128 : memref<4xf32>
    exec.event_record 0
    exec.event_wait 0 stream 1
    // expected-note @+1 {{this is the other op: its operand #1}}
    exec.copy %x to %t stream 1 : memref<4xf32>, memref<4xf32>
    exec.event_record 0 stream 1
    // expected-error @+1 {{operand #0 reads bytes [128, 144) on stream 0, which the other op writes (bytes [128, 144), stream 1): nothing orders them; stream 0 has to wait for an event that stream 1 records after the other op}}
    exec.copy %t to %y : memref<4xf32>, memref<4xf32>
    exec.event_wait 0
    return
  }
}

// -----

// What is recorded before the op says nothing of it.
module attributes {exec.arena_bytes = 192 : i64, exec.streams = ["compute", "communication"]} {
  func.func @recorded_too_early() attributes {exec.entry} {
    %x = exec.buffer at 0 : memref<4xf32>
    %y = exec.buffer at 64 : memref<4xf32>
    %t = exec.buffer at 128 : memref<4xf32>
    exec.event_record 0
    exec.event_wait 0 stream 1
    exec.event_record 0 stream 1
    // expected-note @+1 {{this is the other op}}
    exec.copy %x to %t stream 1 : memref<4xf32>, memref<4xf32>
    exec.event_wait 0
    // expected-error @+1 {{reads bytes [128, 144) on stream 0, which the other op writes}}
    exec.copy %t to %y : memref<4xf32>, memref<4xf32>
    return
  }
}

// -----

// Two values share a place: the second may not be written before the first is read.
module attributes {exec.arena_bytes = 192 : i64, exec.streams = ["compute", "communication"]} {
  func.func @one_place() attributes {exec.entry} {
    %x = exec.buffer at 0 : memref<4xf32>
    %y = exec.buffer at 64 : memref<4xf32>
    %t = exec.buffer at 128 : memref<4xf32>
    %u = exec.buffer at 128 : memref<4xf32>
    exec.copy %x to %t : memref<4xf32>, memref<4xf32>
    exec.event_record 0
    exec.event_wait 0 stream 1
    // expected-note @+1 {{this is the other op: its operand #0}}
    exec.copy %t to %y stream 1 : memref<4xf32>, memref<4xf32>
    // expected-error @+1 {{operand #1 writes bytes [128, 144) on stream 0, which the other op reads (bytes [128, 144), stream 1)}}
    exec.copy %x to %u : memref<4xf32>, memref<4xf32>
    exec.event_record 0 stream 1
    exec.event_wait 0
    return
  }
}

// -----

// A parameter is one memory, whichever op names it.
module attributes {exec.arena_bytes = 256 : i64, exec.streams = ["compute", "communication"]} {
  graph.parameter @w : tensor<16x8xf32> variable from [#graph.source<"w", file = [16, 8]>] {exec.pack = 1 : i64}
  func.func @parameter() attributes {exec.entry} {
    %x = exec.buffer at 0 : memref<2x8xf32>
    %y = exec.buffer at 128 : memref<2x16xf32>
    exec.event_record 0
    exec.event_wait 0 stream 1
    // expected-note @+1 {{this is the other op: its @w}}
    exec.pack @w stream 1
    // expected-error @+1 {{@w reads bytes [0, 512) of the parameter on stream 0, which the other op writes}}
    exec.matmul m = 2 n = 16 k = 8 ins(%x : memref<2x8xf32>) packed @w outs(%y : memref<2x16xf32>)
    exec.event_record 0 stream 1
    exec.event_wait 0
    return
  }
}

// -----

module attributes {exec.arena_bytes = 128 : i64, exec.streams = ["compute", "communication"]} {
  func.func @begins_too_early() attributes {exec.entry} {
    %x = exec.buffer at 0 : memref<4xf32>
    %y = exec.buffer at 64 : memref<4xf32>
    // expected-error @+1 {{is the first on stream 1, which has not waited for stream 0: what ran before the call may still be at work}}
    exec.copy %x to %y stream 1 : memref<4xf32>, memref<4xf32>
    exec.event_record 0 stream 1
    exec.event_wait 0
    return
  }
}

// -----

module attributes {exec.arena_bytes = 128 : i64, exec.streams = ["compute", "communication"]} {
  func.func @ends_too_early() attributes {exec.entry} {
    %x = exec.buffer at 0 : memref<4xf32>
    %y = exec.buffer at 64 : memref<4xf32>
    exec.event_record 0
    exec.event_wait 0 stream 1
    // expected-error @+1 {{is on stream 1, and stream 0 does not wait for it before the entry ends}}
    exec.copy %x to %y stream 1 : memref<4xf32>, memref<4xf32>
    return
  }
}

// -----

// Also one that may not run at all records nothing.
module attributes {exec.arena_bytes = 128 : i64, exec.streams = ["compute", "communication"]} {
  func.func @recorded_perhaps() attributes {exec.entry} {
    exec.for %i = call[0] in 0 to 3 step 1 {
      exec.event_record 0
    }
    // expected-error @+1 {{waits for event 0, which may not have been recorded in this call before}}
    exec.event_wait 0 stream 1
    return
  }
}

// -----

// The round before: the copy of round i + 1 writes what the other stream may still be reading in round i.
module attributes {exec.arena_bytes = 192 : i64, exec.streams = ["compute", "communication"]} {
  func.func @rounds() attributes {exec.entry} {
    %x = exec.buffer at 0 : memref<4xf32>
    %y = exec.buffer at 64 : memref<4xf32>
    %t = exec.buffer at 128 : memref<4xf32>
    exec.for %i = 3 step 1 {
      // expected-error @+1 {{operand #1 writes bytes [128, 144) on stream 0, which the other op of the round before reads (bytes [128, 144), stream 1)}}
      exec.copy %x to %t : memref<4xf32>, memref<4xf32>
      exec.event_record 0
      exec.event_wait 0 stream 1
      // expected-note @+1 {{this is the other op}}
      exec.copy %t to %y stream 1 : memref<4xf32>, memref<4xf32>
    }
    exec.event_record 1 stream 1
    exec.event_wait 1
    return
  }
}

// -----

// An event that a round leaves for the next one, recorded before the loop for the first.
module attributes {exec.arena_bytes = 192 : i64, exec.streams = ["compute", "communication"]} {
  func.func @good_rounds() attributes {exec.entry} {
    %x = exec.buffer at 0 : memref<4xf32>
    %y = exec.buffer at 64 : memref<4xf32>
    %t = exec.buffer at 128 : memref<4xf32>
    exec.event_record 1 stream 1
    exec.for %i = 3 step 1 {
      exec.event_wait 1
      exec.copy %x to %t : memref<4xf32>, memref<4xf32>
      exec.event_record 0
      exec.event_wait 0 stream 1
      exec.copy %t to %y stream 1 : memref<4xf32>, memref<4xf32>
      exec.event_record 1 stream 1
    }
    exec.event_wait 1
    return
  }
}

// -----

// Rounds that touch different layers need no order, one that touches the layer of the round before does.
module attributes {exec.arena_bytes = 192 : i64, exec.streams = ["compute", "communication"]} {
  func.func @layers() attributes {exec.entry} {
    %x = exec.buffer at 0 : memref<4xf32>
    %stack = exec.buffer at 64 : memref<4x4xf32>
    %y = exec.buffer at 128 : memref<4xf32>
    exec.event_record 0
    exec.event_wait 0 stream 1
    exec.for %i = 3 step 1 {
      %next = exec.index_offset %i, 1
      %here = exec.layer %stack[%i] : memref<4x4xf32> -> memref<4xf32>
      %there = exec.layer %stack[%next] : memref<4x4xf32> -> memref<4xf32>
      // expected-note @+1 {{this is the other op}}
      exec.copy %x to %there stream 1 : memref<4xf32>, memref<4xf32>
      // expected-error @+1 {{operand #0 reads a layer in bytes [64, 112) on stream 0, which the other op of the round before writes (a layer in bytes [80, 128), stream 1)}}
      exec.copy %here to %y : memref<4xf32>, memref<4xf32>
    }
    exec.event_record 0 stream 1
    exec.event_wait 0
    return
  }
}

// -----

module attributes {exec.arena_bytes = 192 : i64, exec.streams = ["compute", "communication"]} {
  func.func @good_layers() attributes {exec.entry} {
    %x = exec.buffer at 0 : memref<4xf32>
    %stack = exec.buffer at 64 : memref<4x4xf32>
    %y = exec.buffer at 128 : memref<4xf32>
    exec.event_record 0
    exec.event_wait 0 stream 1
    exec.for %i = 3 step 1 {
      %next = exec.index_offset %i, 1
      %here = exec.layer %stack[%i] : memref<4x4xf32> -> memref<4xf32>
      %there = exec.layer %stack[%next] : memref<4x4xf32> -> memref<4xf32>
      exec.copy %x to %here stream 1 : memref<4xf32>, memref<4xf32>
      exec.copy %there to %y : memref<4xf32>, memref<4xf32>
      exec.event_record 0
      exec.event_wait 0 stream 1
    }
    exec.event_record 0 stream 1
    exec.event_wait 0
    return
  }
}

// -----

// Ranks could begin the two in different orders.
module attributes {exec.arena_bytes = 256 : i64, exec.streams = ["compute", "communication"]} {
  dist.mesh @mesh = <["x"=2, "y"=2]>
  func.func @two_orders() attributes {exec.entry} {
    %a = exec.buffer at 0 : memref<4xf32>
    %b = exec.buffer at 64 : memref<4xf32>
    %c = exec.buffer at 128 : memref<4xf32>
    %d = exec.buffer at 192 : memref<4xf32>
    exec.event_record 0
    exec.event_wait 0 stream 1
    // expected-note @+1 {{this is the other op}}
    exec.collective all_reduce sum over [#dist.axis_ref<"x">] ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) stream 1
    // expected-error @+1 {{communicates on stream 0, and the other op on stream 1: nothing orders them, so ranks could begin them in different orders; stream 0 has to wait for an event that stream 1 records after the other op}}
    exec.collective all_reduce sum over [#dist.axis_ref<"y">] ins(%c : memref<4xf32>) outs(%d : memref<4xf32>)
    exec.event_record 0 stream 1
    exec.event_wait 0
    return
  }
}

// -----

// What is in flight is over for the stream that waits for the token, not for others.
module attributes {exec.arena_bytes = 256 : i64, exec.streams = ["compute", "communication"]} {
  dist.mesh @mesh = <["x"=2]>
  func.func @token() attributes {exec.entry} {
    %a = exec.buffer at 0 : memref<4xf32>
    %b = exec.buffer at 64 : memref<4xf32>
    %c = exec.buffer at 128 : memref<4xf32>
    exec.event_record 0
    exec.event_wait 0 stream 1
    // expected-note @+1 {{this is the other op: its operand #1}}
    %t = exec.collective_start all_reduce sum over [#dist.axis_ref<"x">] ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) stream 1
    exec.wait %t stream 1
    // expected-error @+1 {{operand #0 reads bytes [64, 80) on stream 0, which the other op writes (bytes [64, 80), in flight): nothing orders them; stream 0 has to come after the wait for it}}
    exec.copy %b to %c : memref<4xf32>, memref<4xf32>
    exec.event_record 0 stream 1
    exec.event_wait 0
    return
  }
}

// -----

module attributes {exec.arena_bytes = 64 : i64} {
  func.func @no_such_stream() attributes {exec.entry} {
    // expected-error @+1 {{is given to stream 1, but the module has 1 stream (exec.streams)}}
    exec.event_record 0 stream 1
    return
  }
}

// -----

// expected-error @+1 {{has exec.streams = ["communication"]: expected a list of "compute" and "communication" that begins with "compute"}}
module attributes {exec.arena_bytes = 64 : i64, exec.streams = ["communication"]} {
}

// -----

// What a kernel keeps from launch to launch is one for all its launches, whatever they are given.
module attributes {exec.arena_bytes = 256 : i64, exec.streams = ["compute", "communication"]} {
  func.func private @counts(%in: memref<4xf32>, %out: memref<4xf32>, %begin: index, %end: index) attributes {tessera.kernel} {
    %arrivals = memref.alloc() {tessera.image_memory} : memref<8xi32>
    return
  }
  func.func private @forgets(%in: memref<4xf32>, %out: memref<4xf32>, %begin: index, %end: index) attributes {tessera.kernel} {
    %temporary = memref.alloc() : memref<8xi32>
    return
  }
  func.func @alone() attributes {exec.entry} {
    %x = exec.buffer at 0 : memref<4xf32>
    %y = exec.buffer at 64 : memref<4xf32>
    %z = exec.buffer at 128 : memref<4xf32>
    exec.event_record 0
    exec.event_wait 0 stream 1
    exec.launch @forgets ins(%x : memref<4xf32>) outs(%z : memref<4xf32>) count = 1 grain = 1 modes(write) stream 1
    exec.launch @counts ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) count = 1 grain = 1 modes(write)
    exec.event_record 0 stream 1
    exec.launch @forgets ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) count = 1 grain = 1 modes(write)
    exec.event_wait 0
    exec.launch @counts ins(%x : memref<4xf32>) outs(%z : memref<4xf32>) count = 1 grain = 1 modes(write)
    return
  }
  func.func @at_once() attributes {exec.entry} {
    %x = exec.buffer at 0 : memref<4xf32>
    %y = exec.buffer at 64 : memref<4xf32>
    %z = exec.buffer at 128 : memref<4xf32>
    exec.event_record 0
    exec.event_wait 0 stream 1
    // expected-note @+1 {{this is the other op: its @counts}}
    exec.launch @counts ins(%x : memref<4xf32>) outs(%z : memref<4xf32>) count = 1 grain = 1 modes(write) stream 1
    // expected-error @+1 {{@counts writes bytes [0, 32) of the memory that its launches share on stream 0, which the other op writes (bytes [0, 32) of the memory that its launches share, stream 1): nothing orders them}}
    exec.launch @counts ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) count = 1 grain = 1 modes(write)
    exec.event_record 0 stream 1
    exec.event_wait 0
    return
  }
}
