// A kernel whose code the host cannot run has no function in the table of kernels: it has a block, and the module's images hold its code.
// RUN: llm-opt %s --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s
// RUN: llm-opt %s --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s --check-prefix=MANIFEST
// `info` says what there are images for: the manifest lists those, whatever the target makes as a rule.
// MANIFEST: architectures\22:[\22sm_90a\22,\22compute_80\22]

module attributes {exec.arena_bytes = 4096 : i64} {
  exec.device_kernel @half threads = 96 shared = 4096 per_block = 3
  exec.image "sm_90a" = "\7FELF\00code"
  exec.image "compute_80" = ".version 7.0"
  llvm.func @k(!llvm.ptr, !llvm.ptr, i64, i64)

  // CHECK: llvm.mlir.global internal constant @tessera_kernels()
  // CHECK: llvm.mlir.zero : !llvm.ptr
  // CHECK: llvm.mlir.constant(96 : i32)
  // CHECK: llvm.mlir.constant(4096 : i32)
  // CHECK: llvm.mlir.constant(3 : i64)
  // CHECK: llvm.mlir.addressof @k
  // CHECK: llvm.mlir.global internal constant @tessera_image_architecture_0("sm_90a\00")
  // Every image ends with a zero, which its length does not count: PTX is text.
  // CHECK: llvm.mlir.global internal constant @tessera_image_0("\7FELF\00code\00") {{.*}}alignment = 64
  // CHECK: llvm.mlir.global internal constant @tessera_image_1(".version 7.0\00")
  // CHECK: llvm.mlir.global internal constant @tessera_images()
  // CHECK: llvm.mlir.addressof @tessera_image_0
  // CHECK: llvm.mlir.constant(9 : i64)
  // CHECK: llvm.mlir.addressof @tessera_image_1
  // CHECK: llvm.mlir.constant(12 : i64)
  // CHECK: llvm.mlir.global external constant @tessera_program()
  // CHECK-NOT: exec.
  func.func @f() attributes {exec.entry} {
    %a = exec.buffer at 0 : memref<8xf32>
    %b = exec.buffer at 64 : memref<8xf32>
    exec.launch @half ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) count = 6 grain = 1 modes(write)
    exec.launch @k ins(%b : memref<8xf32>) outs(%a : memref<8xf32>) count = 6 grain = 1 modes(write)
    return
  }
}
