// Calls in the manifest: what the runtime is asked for, in the order of the program, with the names that locations carry.
// RUN: llm-opt %s --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s

#layer = loc(fused<["layer", -1 : i64, 5 : i64]>[fused<"gradient of q">["m"]])
#outer = loc(fused<["layer", 0 : i64, 2 : i64]>[fused<["micro-batch", 1 : i64, 0 : i64]>[fused<"stack">["m"]]])
module attributes {exec.arena_bytes = 4096 : i64} {
  dist.mesh @mesh = <["tp"=4]>
  llvm.func @k(!llvm.ptr, !llvm.ptr, i64, i64)

  // CHECK: constant @tessera_manifest("{
  // CHECK-SAME: \22calls\22:[
  // Views and indices are no calls. A loop stands once, whatever its count.
  // CHECK-SAME: {\22calls\22:[
  // A layer of a stack is all that a launch may write of it.
  // CHECK-SAME: {\22at\22:{{\[\[}}\22layer\22,-1,5]],\22do\22:\22launch\22,\22gives\22:{{\[\[}}\22f32\22,4,\22layer\22]],\22kernel\22:\22k\22,\22value\22:\22gradient of q\22}
  // CHECK-SAME: {\22do\22:\22collective\22,\22id\22:0}]
  // CHECK-SAME: \22count\22:0,\22loop\22:6,\22step\22:2}
  // The innermost iteration comes first; what stands in no loop has its number. A copy has no name: makers of many values say what it is for.
  // CHECK-SAME: {\22at\22:{{\[\[}}\22layer\22,0,2],[\22micro-batch\22,1,0]],\22do\22:\22copy\22}
  // A flag has its number in the entry, and says which of two loops runs.
  // CHECK-SAME: {\22do\22:\22read_flag\22,\22id\22:0},{\22do\22:\22read_flag\22,\22id\22:1}
  // CHECK-SAME: {\22calls\22:[{\22do\22:\22copy\22}],\22if\22:1,\22loop\22:1,\22step\22:1}
  // CHECK-SAME: {\22calls\22:[],\22loop\22:1,\22step\22:1,\22unless\22:1}
  func.func @f() attributes {exec.entry} {
    %a = exec.buffer at 0 : memref<4xf32>
    %stack = exec.buffer at 64 : memref<6x4xf32>
    exec.for %i = call[0] in 1 to 6 step 2 {
      %j = exec.index_offset %i, 5 reverse
      exec.launch @k ins(%a : memref<4xf32>) outs(%stack : memref<6x4xf32>) scalars(%j) count = 1 grain = 1 modes(layer) loc(#layer)
      exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%a : memref<4xf32>) outs(%a : memref<4xf32>)
    }
    %b = exec.buffer at 512 : memref<4xf32>
    exec.copy %a to %b : memref<4xf32>, memref<4xf32> loc(#outer)
    %c = exec.buffer at 1024 : memref<i1>
    %other = exec.read_flag %c : memref<i1>
    %flag = exec.read_flag %c : memref<i1>
    %rest = exec.index_offset %flag, 1 reverse
    exec.for %i = number(%flag) in 0 to 1 step 1 {
      exec.copy %a to %b : memref<4xf32>, memref<4xf32>
    }
    exec.for %i = number(%rest) in 0 to 1 step 1 {
    }
    return
  }
}
