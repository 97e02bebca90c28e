// What ranks exchange is started behind what it needs and waited for before what needs it, in bytes; where nothing would run between, it stays one op.
// RUN: llm-opt %s --exec-start-collectives --verify-exec-memory --exec-verify-order | FileCheck %s
module attributes {exec.arena_bytes = 1024 : i64} {
  dist.mesh @mesh = <["tp"=2]>
  func.func private @k(memref<16xf32>, memref<16xf32>, index, index)
  func.func private @add(memref<16xf32>, memref<16xf32>, memref<16xf32>, index, index)

  // The text has work before the collective and behind it; both come to stand between.
  // CHECK-LABEL: func.func @beside
  func.func @beside() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
    %x = exec.buffer at 0 : memref<16xf32>
    %y = exec.buffer at 64 : memref<16xf32>
    %t = exec.buffer at 128 : memref<16xf32>
    %s = exec.buffer at 192 : memref<16xf32>
    %u = exec.buffer at 256 : memref<16xf32>
    %v = exec.buffer at 320 : memref<16xf32>
    // CHECK: exec.launch @k {{.*}} outs(%[[T:.*]] : memref<16xf32>)
    // CHECK-NEXT: %[[TOKEN:.*]] = exec.collective_start all_reduce sum over {{.*}} ins(%[[T]] : memref<16xf32>) {{.*}} {why = "because"}
    // CHECK-NEXT: exec.launch @k
    // CHECK-NEXT: exec.launch @k
    // CHECK-NEXT: exec.wait %[[TOKEN]]
    // CHECK-NEXT: exec.launch @add
    exec.launch @k ins(%x : memref<16xf32>) outs(%t : memref<16xf32>) count = 1 grain = 1 modes(write)
    exec.launch @k ins(%x : memref<16xf32>) outs(%u : memref<16xf32>) count = 1 grain = 1 modes(write)
    exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%t : memref<16xf32>) outs(%s : memref<16xf32>) {why = "because"}
    exec.launch @k ins(%u : memref<16xf32>) outs(%v : memref<16xf32>) count = 1 grain = 1 modes(write)
    exec.launch @add ins(%s, %v : memref<16xf32>, memref<16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
    return
  }

  // Another value in the place of the operand may not be made before the end, nor one that is read in the place of the result before the start.
  // CHECK-LABEL: func.func @shared_places
  func.func @shared_places() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
    %x = exec.buffer at 0 : memref<16xf32>
    %y = exec.buffer at 64 : memref<16xf32>
    %t = exec.buffer at 128 : memref<16xf32>
    %old = exec.buffer at 192 : memref<16xf32>
    %s = exec.buffer at 192 : memref<16xf32>
    %u = exec.buffer at 256 : memref<16xf32>
    %v = exec.buffer at 128 : memref<16xf32>
    // CHECK-COUNT-3: exec.launch @k
    // CHECK-NEXT: exec.collective_start
    // CHECK-NEXT: exec.launch @k
    // CHECK-NEXT: exec.wait
    // CHECK-NEXT: exec.launch @k
    exec.launch @k ins(%x : memref<16xf32>) outs(%t : memref<16xf32>) count = 1 grain = 1 modes(write)
    exec.launch @k ins(%x : memref<16xf32>) outs(%old : memref<16xf32>) count = 1 grain = 1 modes(write)
    exec.launch @k ins(%old : memref<16xf32>) outs(%u : memref<16xf32>) count = 1 grain = 1 modes(write)
    exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%t : memref<16xf32>) outs(%s : memref<16xf32>)
    exec.launch @k ins(%u : memref<16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
    exec.launch @k ins(%u : memref<16xf32>) outs(%v : memref<16xf32>) count = 1 grain = 1 modes(write)
    exec.launch @add ins(%s, %v : memref<16xf32>, memref<16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
    return
  }

  // Nothing to do meanwhile: one op. A collective is something to do: the second one begins before the first has ended, and then waits at once.
  // CHECK-LABEL: func.func @nothing_to_do
  func.func @nothing_to_do() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
    %x = exec.buffer at 0 : memref<16xf32>
    %y = exec.buffer at 64 : memref<16xf32>
    %t = exec.buffer at 128 : memref<16xf32>
    %s = exec.buffer at 192 : memref<16xf32>
    %u = exec.buffer at 256 : memref<16xf32>
    %v = exec.buffer at 320 : memref<16xf32>
    // CHECK: exec.launch @k
    // CHECK-NEXT: exec.collective all_reduce
    // CHECK-NEXT: exec.launch @k
    // CHECK-NEXT: exec.collective_start
    // CHECK-NEXT: exec.collective all_reduce
    // CHECK-NEXT: exec.wait
    // CHECK-NEXT: exec.launch @add
    exec.launch @k ins(%x : memref<16xf32>) outs(%t : memref<16xf32>) count = 1 grain = 1 modes(write)
    exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%t : memref<16xf32>) outs(%s : memref<16xf32>)
    exec.launch @k ins(%s : memref<16xf32>) outs(%u : memref<16xf32>) count = 1 grain = 1 modes(write)
    exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%u : memref<16xf32>) outs(%v : memref<16xf32>)
    exec.collective all_reduce max over [#dist.axis_ref<"tp">] ins(%s : memref<16xf32>) outs(%t : memref<16xf32>)
    exec.launch @add ins(%t, %v : memref<16xf32>, memref<16xf32>) outs(%y : memref<16xf32>) count = 1 grain = 1 modes(write)
    return
  }

  // A token does not leave its iteration: what is started there is waited for at its end at the latest.
  // CHECK-LABEL: func.func @loop
  func.func @loop() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<16xf32>}], exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<16xf32>}]} {
    %x = exec.buffer at 0 : memref<16xf32>
    %y = exec.buffer at 64 : memref<16xf32>
    %t = exec.buffer at 128 : memref<16xf32>
    // CHECK: exec.for
    // CHECK-NEXT: exec.collective_start
    // CHECK-NEXT: exec.launch @k
    // CHECK-NEXT: exec.wait
    // CHECK-NEXT: }
    exec.for %i = 2 step 1 {
      exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%x : memref<16xf32>) outs(%y : memref<16xf32>)
      exec.launch @k ins(%x : memref<16xf32>) outs(%t : memref<16xf32>) count = 1 grain = 1 modes(write)
    }
    return
  }
}
