// A stack that some bodies of a period have a layer in holds their layers alone: which of its places an iteration takes.
// RUN: llm-opt %s --split-input-file --verify-exec-memory=unread --verify-diagnostics -o %t

// Two bodies of three have a layer in a stack: four layers of six.
module attributes {exec.arena_bytes = 384 : i64} {
func.func private @k(memref<16xf32>, memref<4x16xf32>, index, index, index)
func.func private @whole(memref<4x16xf32>, memref<16xf32>, index, index)
func.func @some_bodies() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  %s = exec.buffer at 128 : memref<4x16xf32>
  exec.for %i = 6 step 3 {
    %a = exec.stack_layer %i period = 3 held = 2 before = 0
    exec.launch @k ins(%x : memref<16xf32>) outs(%s : memref<4x16xf32>) scalars(%a) count = 1 grain = 1 modes(layer)
    %j = exec.index_offset %i, 2
    %b = exec.stack_layer %j period = 3 held = 2 before = 1
    exec.launch @k ins(%x : memref<16xf32>) outs(%s : memref<4x16xf32>) scalars(%b) count = 1 grain = 1 modes(layer)
  }
  exec.launch @whole ins(%s : memref<4x16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
  return
}
}

// -----

// The stack has no place for the last of them.
module attributes {exec.arena_bytes = 320 : i64} {
func.func private @k(memref<16xf32>, memref<3x16xf32>, index, index, index)
func.func private @whole(memref<3x16xf32>, memref<16xf32>, index, index)
func.func @some_bodies_more() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  %s = exec.buffer at 128 : memref<3x16xf32>
  exec.for %i = 6 step 3 {
    %a = exec.stack_layer %i period = 3 held = 2 before = 0
    exec.launch @k ins(%x : memref<16xf32>) outs(%s : memref<3x16xf32>) scalars(%a) count = 1 grain = 1 modes(layer)
    %j = exec.index_offset %i, 2
    %b = exec.stack_layer %j period = 3 held = 2 before = 1
    // expected-error @+1 {{operand #1 takes layer 3 of a stack of 3}}
    exec.launch @k ins(%x : memref<16xf32>) outs(%s : memref<3x16xf32>) scalars(%b) count = 1 grain = 1 modes(layer)
  }
  exec.launch @whole ins(%s : memref<3x16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
  return
}
}

// -----

// An iteration of two layers is no period of three.
module attributes {exec.arena_bytes = 384 : i64} {
func.func private @k(memref<16xf32>, memref<4x16xf32>, index, index, index)
func.func private @whole(memref<4x16xf32>, memref<16xf32>, index, index)
func.func @no_whole_periods() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %y = exec.buffer at 64 : memref<16xf32>
  %s = exec.buffer at 128 : memref<4x16xf32>
  exec.for %i = 6 step 2 {
    // expected-error @+1 {{is of a loop whose iterations are no whole periods of 3 layers}}
    %a = exec.stack_layer %i period = 3 held = 2 before = 0
    exec.launch @k ins(%x : memref<16xf32>) outs(%s : memref<4x16xf32>) scalars(%a) count = 1 grain = 1 modes(layer)
    %j = exec.index_offset %i, 2
    %b = exec.stack_layer %j period = 3 held = 2 before = 1
    exec.launch @k ins(%x : memref<16xf32>) outs(%s : memref<4x16xf32>) scalars(%b) count = 1 grain = 1 modes(layer)
  }
  exec.launch @whole ins(%s : memref<4x16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
  return
}
}
