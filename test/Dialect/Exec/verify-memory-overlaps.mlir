// What one op writes lies apart from all that it reads and from its other results, unless it says that it works in place.
// RUN: llm-opt %s --split-input-file --verify-exec-memory=unread --verify-diagnostics -o %t

// One kernel cannot write two results to one place.
module attributes {exec.arena_bytes = 192 : i64} {
func.func private @k(memref<16xf32>, memref<16xf32>, memref<16xf32>, index, index)
func.func @both() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}]} {
  %x = exec.buffer at 0 : memref<16xf32>
  %t = exec.buffer at 64 : memref<16xf32>
  %u = exec.buffer at 64 : memref<16xf32>
  // expected-error @+1 {{operand #2 writes bytes [64, 128), which the same op writes for another result}}
  exec.launch @k ins(%x : memref<16xf32>) outs(%t, %u : memref<16xf32>, memref<16xf32>) count = 1 grain = 1 modes(write, write)
  return
}
}

// -----

// A product reads what it has written already.
module attributes {exec.arena_bytes = 3072 : i64} {
func.func @product_over_its_input() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16x16xf32>}, {name = "w", offset = 1024 : i64, type = tensor<16x16xf32>}], exec.outputs = [{name = "y", offset = 2048 : i64, type = tensor<16x16xf32>}]} {
  %x = exec.buffer at 0 : memref<16x16xf32>
  %w = exec.buffer at 1024 : memref<16x16xf32>
  %y = exec.buffer at 2048 : memref<16x16xf32>
  exec.copy %x to %y : memref<16x16xf32>, memref<16x16xf32>
  // expected-error @+1 {{operand #2 writes bytes [2048, 3072), which the same op reads: bytes [2048, 3072)}}
  exec.matmul m = 16 n = 16 k = 16 ins(%y, %w : memref<16x16xf32>, memref<16x16xf32>) outs(%y : memref<16x16xf32>)
  return
}
}

// -----

// It may write in the place of what it adds, and of nothing else.
module attributes {exec.arena_bytes = 3072 : i64} {
func.func @product_over_its_addend() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16x16xf32>}, {name = "w", offset = 1024 : i64, type = tensor<16x16xf32>}], exec.outputs = [{name = "y", offset = 2048 : i64, type = tensor<16x16xf32>}]} {
  %x = exec.buffer at 0 : memref<16x16xf32>
  %w = exec.buffer at 1024 : memref<16x16xf32>
  %y = exec.buffer at 2048 : memref<16x16xf32>
  exec.copy %x to %y : memref<16x16xf32>, memref<16x16xf32>
  exec.matmul m = 16 n = 16 k = 16 ins(%x, %w : memref<16x16xf32>, memref<16x16xf32>) addend(%y : memref<16x16xf32>) outs(%y : memref<16x16xf32>)
  // expected-error @+1 {{operand #3 writes bytes [2048, 3072), which the same op reads: bytes [2048, 3072)}}
  exec.matmul m = 16 n = 16 k = 16 ins(%y, %w : memref<16x16xf32>, memref<16x16xf32>) addend(%y : memref<16x16xf32>) outs(%y : memref<16x16xf32>)
  return
}
}

// -----

// What it adds is read like any operand.
module attributes {exec.arena_bytes = 4096 : i64} {
func.func @product_with_an_addend_that_nobody_wrote() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16x16xf32>}, {name = "w", offset = 1024 : i64, type = tensor<16x16xf32>}], exec.outputs = [{name = "y", offset = 2048 : i64, type = tensor<16x16xf32>}]} {
  %x = exec.buffer at 0 : memref<16x16xf32>
  %w = exec.buffer at 1024 : memref<16x16xf32>
  %y = exec.buffer at 2048 : memref<16x16xf32>
  %b = exec.buffer at 3072 : memref<16xf32>
  // expected-error @+1 {{operand #2 reads bytes [3072, 3136), of which nobody has written}}
  exec.matmul m = 16 n = 16 k = 16 ins(%x, %w : memref<16x16xf32>, memref<16x16xf32>) bias(%b : memref<16xf32>) outs(%y : memref<16x16xf32>)
  return
}
}

// -----

// One element further than its input, as an off-by-one in lifetimes would place it.
module attributes {exec.arena_bytes = 512 : i64} {
func.func private @k(memref<32xf32>, memref<32xf32>, index, index)
func.func @half_over_its_input() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<32xf32>}], exec.outputs = [{name = "y", offset = 128 : i64, type = tensor<32xf32>}]} {
  %x = exec.buffer at 0 : memref<32xf32>
  %y = exec.buffer at 128 : memref<32xf32>
  %t = exec.buffer at 256 : memref<32xf32>
  %u = exec.buffer at 320 : memref<32xf32>
  exec.copy %x to %t : memref<32xf32>, memref<32xf32>
  // expected-error @+1 {{operand #1 writes bytes [320, 448), which the same op reads: bytes [256, 384)}}
  exec.launch @k ins(%t : memref<32xf32>) outs(%u : memref<32xf32>) count = 8 grain = 1 modes(write)
  exec.launch @k ins(%u : memref<32xf32>) outs(%y : memref<32xf32>) count = 1 grain = 1 modes(write)
  return
}
}

// -----

// An all_reduce may work in place; another collective may not, not even where the block is this rank's own: others read it meanwhile.
module attributes {exec.arena_bytes = 1536 : i64} {
dist.mesh @mesh = <["tp"=2]>
func.func @sum() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<8x8xf32>}], exec.outputs = [{name = "z", offset = 256 : i64, type = tensor<8x8xf32>}]} {
  %x = exec.buffer at 0 : memref<8x8xf32>
  %z = exec.buffer at 256 : memref<8x8xf32>
  exec.copy %x to %z : memref<8x8xf32>, memref<8x8xf32>
  exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%z : memref<8x8xf32>) outs(%z : memref<8x8xf32>)
  return
}
func.func @gather() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<8x8xf32>}], exec.outputs = [{name = "y", offset = 1024 : i64, type = tensor<16x8xf32>}]} {
  %x = exec.buffer at 0 : memref<8x8xf32>
  %y = exec.buffer at 1024 : memref<16x8xf32>
  %own = exec.reshape %y : memref<16x8xf32> -> memref<8x8xf32>
  exec.copy %x to %own : memref<8x8xf32>, memref<8x8xf32>
  // expected-error @+1 {{operand #1 writes bytes [1024, 1536), which the same op reads: bytes [1024, 1280)}}
  exec.collective all_gather none over [#dist.axis_ref<"tp">] ins(%own : memref<8x8xf32>) outs(%y : memref<16x8xf32>)
  return
}
}

// -----

// Both sides of a copy may have got one place; half of one may not.
module attributes {exec.arena_bytes = 320 : i64} {
func.func @copied_onto_itself() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<32xf32>}], exec.outputs = [{name = "y", offset = 128 : i64, type = tensor<32xf32>}]} {
  %x = exec.buffer at 0 : memref<32xf32>
  %y = exec.buffer at 128 : memref<32xf32>
  %again = exec.buffer at 128 : memref<32xf32>
  exec.copy %x to %y : memref<32xf32>, memref<32xf32>
  exec.copy %y to %again : memref<32xf32>, memref<32xf32>
  return
}
}

// -----

module attributes {exec.arena_bytes = 320 : i64} {
func.func @copied_by_half() attributes {exec.entry,
    exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<32xf32>}], exec.outputs = [{name = "y", offset = 192 : i64, type = tensor<32xf32>}]} {
  %x = exec.buffer at 0 : memref<32xf32>
  %y = exec.buffer at 128 : memref<32xf32>
  %z = exec.buffer at 192 : memref<32xf32>
  exec.copy %x to %y : memref<32xf32>, memref<32xf32>
  // expected-error @+1 {{operand #1 writes bytes [192, 320), which the same op reads: bytes [128, 256)}}
  exec.copy %y to %z : memref<32xf32>, memref<32xf32>
  return
}
}
