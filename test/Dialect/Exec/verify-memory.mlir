// What entries do to the arena, one rule each. Every wrong program is a right one with one thing changed.
// RUN: llm-opt %s --split-input-file --verify-exec-memory=unread --verify-diagnostics -o %t

// Right: x -> t -> y; the place of t is used again by u once t is dead.
module attributes {exec.arena_bytes = 256 : i64} {
func.func private @k(memref<16xf32>, memref<16xf32>, index, index)
func.func @right() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  %t = exec.buffer at 128 : memref<16xf32>
  %u = exec.buffer at 192 : memref<16xf32>
  %v = exec.buffer at 128 : memref<16xf32>
  exec.launch @k ins(%x : memref<16xf32>) outs(%t : memref<16xf32>) count = 1 grain = 1 modes(write)
  exec.launch @k ins(%t : memref<16xf32>) outs(%u : memref<16xf32>) count = 1 grain = 1 modes(write)
  exec.launch @k ins(%u : memref<16xf32>) outs(%v : memref<16xf32>) count = 1 grain = 1 modes(write)
  exec.launch @k ins(%v : memref<16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
  return
}
}

// -----

// An offset is shifted: what is read there was written for something else.
module attributes {exec.arena_bytes = 256 : i64} {
func.func private @k(memref<16xf32>, memref<16xf32>, index, index)
func.func @shifted() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  %t = exec.buffer at 128 : memref<32xf32>
  %s = exec.buffer at 192 : memref<16xf32>
  %w = exec.reshape %t : memref<32xf32> -> memref<16xf32>
  exec.launch @k ins(%x : memref<16xf32>) outs(%w : memref<16xf32>) count = 1 grain = 1 modes(write)
  // expected-error @+1 {{operand #0 reads bytes [192, 256), of which nobody has written [192, 256)}}
  exec.launch @k ins(%s : memref<16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
  return
}
}

// -----

// A buffer ends behind the arena.
module attributes {exec.arena_bytes = 128 : i64} {
func.func private @k(memref<16xf32>, memref<17xf32>, index, index)
func.func @outside() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %t = exec.buffer at 64 : memref<17xf32>
  // expected-error @+1 {{operand #1 touches bytes [64, 132) of an arena of 128}}
  exec.launch @k ins(%x : memref<16xf32>) outs(%t : memref<17xf32>) count = 1 grain = 1 modes(write)
  return
}
}

// -----

// Two values that are needed at once lie over each other.
module attributes {exec.arena_bytes = 256 : i64} {
func.func private @k(memref<16xf32>, memref<16xf32>, index, index)
func.func private @two(memref<16xf32>, memref<16xf32>, memref<16xf32>, index, index)
func.func @overlap() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  %t = exec.buffer at 128 : memref<16xf32>
  %u = exec.buffer at 128 : memref<16xf32>
  exec.launch @k ins(%x : memref<16xf32>) outs(%t : memref<16xf32>) count = 1 grain = 1 modes(write)
  // expected-note @+1 {{this is the other op}}
  exec.launch @k ins(%x : memref<16xf32>) outs(%u : memref<16xf32>) count = 1 grain = 1 modes(write)
  // expected-error @+1 {{operand #0 reads bytes [128, 192), of which [128, 192) have another value now}}
  exec.launch @two ins(%t, %u : memref<16xf32>, memref<16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
  return
}
}

// -----

// The copy before an update is missing: the old value is not there.
module attributes {exec.arena_bytes = 256 : i64, exec.states = [{name = "s", offset = 0 : i64, type = tensor<16xf32>}]} {
func.func private @k(memref<16xf32>, memref<16xf32>, index, index)
func.func @copied() attributes {exec.entry, exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %s = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  %t = exec.buffer at 128 : memref<16xf32>
  exec.copy %s to %t : memref<16xf32>, memref<16xf32>
  exec.launch @k ins(%s : memref<16xf32>) outs(%t : memref<16xf32>) count = 1 grain = 1 modes(update)
  exec.launch @k ins(%t : memref<16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
  return
}
func.func @not_copied() attributes {exec.entry, exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %s = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  %t = exec.buffer at 128 : memref<16xf32>
  // expected-error @+1 {{operand #1 reads bytes [128, 192), of which nobody has written [128, 192)}}
  exec.launch @k ins(%s : memref<16xf32>) outs(%t : memref<16xf32>) count = 1 grain = 1 modes(update)
  exec.launch @k ins(%t : memref<16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
  return
}
}

// -----

// The copy at the end of an iteration is missing: the next one works on the old value, and nobody reads the new one.
module attributes {exec.arena_bytes = 256 : i64} {
func.func private @k(memref<16xf32>, memref<16xf32>, index, index)
func.func @carried() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  %t = exec.buffer at 128 : memref<16xf32>
  exec.copy %x to %y : memref<16xf32>, memref<16xf32>
  exec.for %i = 1000000 step 1 {
    exec.launch @k ins(%y : memref<16xf32>) outs(%t : memref<16xf32>) count = 1 grain = 1 modes(write)
    exec.copy %t to %y : memref<16xf32>, memref<16xf32>
  }
  return
}
func.func @not_carried() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  %t = exec.buffer at 128 : memref<16xf32>
  exec.copy %x to %y : memref<16xf32>, memref<16xf32>
  exec.for %i = 3 step 1 {
    // expected-error @+1 {{operand #1 writes what nobody reads}}
    exec.launch @k ins(%y : memref<16xf32>) outs(%t : memref<16xf32>) count = 1 grain = 1 modes(write)
  }
  return
}
}

// -----

// A loop in periods of two from the last layer to the first, its remainder before it, fills a stack; a loop reads it the other way.
module attributes {exec.arena_bytes = 576 : i64} {
func.func private @k(memref<16xf32>, memref<5x16xf32>, index, index, index)
func.func private @add(memref<16xf32>, memref<16xf32>, index, index)
func.func @stack() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  %s = exec.buffer at 128 : memref<5x16xf32>
  %four = arith.constant 4 : index
  exec.launch @k ins(%x : memref<16xf32>) outs(%s : memref<5x16xf32>) scalars(%four) count = 1 grain = 1 modes(layer)
  exec.for %i = 4 step 2 {
    %a = exec.index_offset %i, 3 reverse
    exec.launch @k ins(%x : memref<16xf32>) outs(%s : memref<5x16xf32>) scalars(%a) count = 1 grain = 1 modes(layer)
    %b = exec.index_offset %i, 2 reverse
    exec.launch @k ins(%x : memref<16xf32>) outs(%s : memref<5x16xf32>) scalars(%b) count = 1 grain = 1 modes(layer)
  }
  exec.copy %x to %y : memref<16xf32>, memref<16xf32>
  exec.for %i = 5 step 1 {
    %l = exec.layer %s[%i] : memref<5x16xf32> -> memref<16xf32>
    exec.launch @add ins(%l : memref<16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(update)
  }
  return
}
}

// -----

// One iteration less: its layer is missing.
module attributes {exec.arena_bytes = 448 : i64} {
func.func private @k(memref<16xf32>, memref<5x16xf32>, index, index, index)
func.func private @whole(memref<5x16xf32>, memref<16xf32>, index, index)
func.func @shortened() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  %s = exec.buffer at 128 : memref<5x16xf32>
  exec.for %i = 4 step 1 {
    exec.launch @k ins(%x : memref<16xf32>) outs(%s : memref<5x16xf32>) scalars(%i) count = 1 grain = 1 modes(layer)
  }
  // expected-error @+1 {{operand #0 reads bytes [128, 448), of which nobody has written [384, 448)}}
  exec.launch @whole ins(%s : memref<5x16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
  return
}
}

// -----

// One iteration more: there is no such layer.
module attributes {exec.arena_bytes = 448 : i64} {
func.func private @k(memref<16xf32>, memref<5x16xf32>, index, index, index)
func.func @lengthened() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %s = exec.buffer at 128 : memref<5x16xf32>
  exec.for %i = 6 step 1 {
    // expected-error @+1 {{operand #1 takes layer 5 of a stack of 5}}
    exec.launch @k ins(%x : memref<16xf32>) outs(%s : memref<5x16xf32>) scalars(%i) count = 1 grain = 1 modes(layer)
  }
  return
}
}

// -----

// The call says how often: with the least of 2 iterations layers are missing.
module attributes {exec.arena_bytes = 448 : i64} {
func.func private @k(memref<16xf32>, memref<5x16xf32>, index, index, index)
func.func private @whole(memref<5x16xf32>, memref<16xf32>, index, index)
func.func @counted() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  %s = exec.buffer at 128 : memref<5x16xf32>
  exec.for %i = call[0] in 2 to 5 step 1 {
    exec.launch @k ins(%x : memref<16xf32>) outs(%s : memref<5x16xf32>) scalars(%i) count = 1 grain = 1 modes(layer)
  }
  // expected-error @+1 {{operand #0 reads bytes [128, 448), of which nobody has written [256, 448)}}
  exec.launch @whole ins(%s : memref<5x16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
  return
}
}

// -----

// A layer of a packed parameter that is not there.
module attributes {exec.arena_bytes = 192 : i64} {
graph.parameter @w : tensor<2x16x16xf32> stacked from [#graph.source<"w.{}", file = [16, 16]>]
func.func @packed() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  exec.for %i = 3 step 1 {
    // expected-error @+1 {{operand #1 takes layer 2 of a stack of 2}}
    exec.matmul m = 1 n = 16 k = 16 ins(%x : memref<16xf32>) packed @w[%i] outs(%y : memref<16xf32>)
  }
  return
}
}

// -----

// An output is left as it was.
module attributes {exec.arena_bytes = 128 : i64} {
// expected-error @+1 {{output 'y': returns bytes [64, 128), of which nobody has written [64, 128)}}
func.func @returned() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  return
}
}

// -----

// A state ends as another value.
module attributes {exec.arena_bytes = 192 : i64, exec.states = [{name = "s", offset = 0 : i64, type = tensor<16xf32>}]} {
func.func private @k(memref<16xf32>, memref<8xf32>, index, index)
func.func private @l(memref<8xf32>, memref<16xf32>, index, index)
// expected-error @+1 {{state 's': returns bytes [0, 64), of which nobody has written [0, 32) as that}}
func.func @state() attributes {exec.entry, exec.returns = ["s"],
    exec.inputs = [{name = "x", offset = 128 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 128 : memref<16xf32>
  %t = exec.buffer at 0 : memref<8xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  // expected-note @+1 {{this is the other op}}
  exec.launch @k ins(%x : memref<16xf32>) outs(%t : memref<8xf32>) count = 1 grain = 1 modes(write)
  exec.launch @l ins(%t : memref<8xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
  return
}
}

// -----

// Inputs stay, as what other entries return does: the next call may want them.
module attributes {exec.arena_bytes = 192 : i64} {
func.func private @k(memref<16xf32>, memref<16xf32>, index, index)
func.func @input() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}, {name = "w", offset = 128 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %w = exec.buffer at 128 : memref<16xf32>
  %t = exec.buffer at 0 : memref<16xf32>
  // expected-error @+1 {{operand #1 writes bytes [0, 64), which hold an input, a state that the entry does not return, or what another entry returns, at [0, 64)}}
  exec.launch @k ins(%w : memref<16xf32>) outs(%t : memref<16xf32>) count = 1 grain = 1 modes(write)
  return
}
}

// -----

// What another entry's caller gives is nothing that this one's has given.
module attributes {exec.arena_bytes = 128 : i64} {
func.func private @k(memref<16xf32>, memref<16xf32>, index, index)
func.func @given() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}]} {
  return
}
func.func @not_given() attributes {exec.entry, exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  // expected-error @+1 {{operand #0 reads bytes [0, 64), of which [0, 64) have another value now}}
  exec.launch @k ins(%x : memref<16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
  return
}
}

// -----

module attributes {exec.arena_bytes = 192 : i64} {
func.func private @k(memref<16xf32>, memref<16xf32>, index, index)
func.func @modeless() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %t = exec.buffer at 64 : memref<16xf32>
  // expected-error @+1 {{does not say how it writes its outputs}}
  exec.launch @k ins(%x : memref<16xf32>) outs(%t : memref<16xf32>) count = 1 grain = 1
  return
}
}

// -----

// expected-error @+1 {{has entries but no exec.arena_bytes}}
module {
func.func @sizeless() attributes {exec.entry} {
  return
}
}

// -----

// A state that the entry does not return stays as it was: the next call reads it.
module attributes {exec.arena_bytes = 192 : i64, exec.states = [{name = "s", offset = 0 : i64, type = tensor<16xf32>}]} {
func.func private @k(memref<16xf32>, memref<16xf32>, index, index)
func.func @returned() attributes {exec.entry, exec.returns = ["s"], exec.inputs = [{name = "x", offset = 64 : i64, type = tensor<16xf32>}]} {
  %s = exec.buffer at 0 : memref<16xf32>
  %x = exec.buffer at 64 : memref<16xf32>
  exec.launch @k ins(%x : memref<16xf32>) outs(%s : memref<16xf32>) count = 1 grain = 1 modes(update)
  return
}
func.func @kept() attributes {exec.entry, exec.inputs = [{name = "x", offset = 64 : i64, type = tensor<16xf32>}]} {
  %s = exec.buffer at 0 : memref<16xf32>
  %x = exec.buffer at 64 : memref<16xf32>
  // expected-error @+1 {{operand #1 writes bytes [0, 64), which hold an input, a state that the entry does not return}}
  exec.launch @k ins(%x : memref<16xf32>) outs(%s : memref<16xf32>) count = 1 grain = 1 modes(update)
  return
}
}

// -----

module attributes {exec.arena_bytes = 64 : i64, exec.states = [{name = "s", offset = 0 : i64, type = tensor<16xf32>}]} {
// expected-error @+1 {{returns "t", which is no state of exec.states}}
func.func @misspelt() attributes {exec.entry, exec.returns = ["t"]} {
  return
}
}

// -----

// Two names of one parameter are one memory.
module attributes {exec.arena_bytes = 64 : i64} {
graph.parameter @w : tensor<4x16xf32> stacked variable from [#graph.source<"w.{}", file = [16]>] {exec.local = tensor<4x16xf32>}
func.func private @k(memref<16xf32>, memref<4x16xf32>, index, index)
func.func @variable() attributes {exec.entry} {
  %w = exec.param @w : memref<4x16xf32>
  %v = exec.param @w : memref<4x16xf32>
  %zero = arith.constant 0 : index
  %l = exec.layer %v[%zero] : memref<4x16xf32> -> memref<16xf32>
  // expected-error @+1 {{operand #1 writes bytes [0, 256), which the same op reads: bytes [0, 64)}}
  exec.launch @k ins(%l : memref<16xf32>) outs(%w : memref<4x16xf32>) count = 1 grain = 1 modes(update)
  return
}
}

// -----

// Right: what is received is not read here, but another rank waits until it is taken.
module attributes {exec.arena_bytes = 128 : i64} {
dist.mesh @mesh = <["pp"=2]>
func.func @received() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %t = exec.buffer at 64 : memref<16xf32>
  %g = exec.group_index [#dist.axis_ref<"pp">]
  %other = exec.index_offset %g, 1 reverse
  %a = exec.receive %t from %other over [#dist.axis_ref<"pp">] tag 3 : memref<16xf32>
  %b = exec.send %x to %other over [#dist.axis_ref<"pp">] tag 3 : memref<16xf32>
  exec.wait %a
  exec.wait %b
  return
}
}

// -----

// What the entry says it returns, it must write: a write into another state of the same type is a mistake that leaves this one as it was.
module attributes {exec.arena_bytes = 192 : i64, exec.states = [{name = "s", offset = 0 : i64, type = tensor<16xf32>}, {name = "t", offset = 64 : i64, type = tensor<16xf32>}]} {
func.func private @k(memref<16xf32>, memref<16xf32>, index, index)
// expected-error @+1 {{state 't': returns bytes [64, 128), which none of its ops writes: the value there is the old one}}
func.func @old_value() attributes {exec.entry, exec.returns = ["s", "t"], exec.inputs = [{name = "x", offset = 128 : i64, type = tensor<16xf32>}]} {
  %s = exec.buffer at 0 : memref<16xf32>
  %x = exec.buffer at 128 : memref<16xf32>
  exec.launch @k ins(%x : memref<16xf32>) outs(%s : memref<16xf32>) count = 1 grain = 1 modes(update)
  return
}
}
