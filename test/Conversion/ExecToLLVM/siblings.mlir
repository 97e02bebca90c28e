// Siblings of kernels that are launched are rows of a table of their own, which names the kernel by its number.
// RUN: llm-opt %s --exec-to-llvm=target-options=cpu=x86-64-v3 | FileCheck %s

module attributes {exec.arena_bytes = 4096 : i64} {
  exec.device_kernel @idle threads = 32 shared = 0 per_block = 1
  exec.device_sibling @idle$wide of @idle count = 6 blocks = 3 threads = 64 shared = 0 trial "idle" rows = 2 from = 0 in = 0
  exec.device_kernel @half threads = 96 shared = 4096 per_block = 3
  exec.device_sibling @half$wide of @half count = 6 blocks = 2 threads = 256 shared = 8192 trial "half 8" rows = 4 from = 5 in = 1
  llvm.func @k(!llvm.ptr, !llvm.ptr, i64, i64)

  // CHECK-NOT: idle
  // CHECK: llvm.mlir.global internal constant @tessera_name_half$wide("half$wide\00")
  // CHECK: llvm.mlir.global internal constant @tessera_key_half$wide("half 8\00")
  // CHECK: llvm.mlir.global internal constant @tessera_siblings() {{.*}} : !llvm.array<1 x struct<(ptr, ptr, i32, i32, i32, i32, i64, i64, i64, i64)>>
  // Kernel 1, 256 threads, 8192 bytes; rows of 4 from 5 on in buffer 1; 6 iterations in 2 blocks.
  // CHECK: llvm.mlir.constant(1 : i32)
  // CHECK-NEXT: llvm.mlir.constant(256 : i32)
  // CHECK-NEXT: llvm.mlir.constant(8192 : i32)
  // CHECK-NEXT: llvm.mlir.constant(1 : i32)
  // CHECK-NEXT: llvm.mlir.constant(4 : i64)
  // CHECK-NEXT: llvm.mlir.constant(5 : i64)
  // CHECK-NEXT: llvm.mlir.constant(6 : i64)
  // CHECK-NEXT: llvm.mlir.constant(2 : i64)
  // CHECK: llvm.mlir.global external constant @tessera_program()
  // CHECK-NOT: exec.
  func.func @f() attributes {exec.entry} {
    %a = exec.buffer at 0 : memref<8xf32>
    %b = exec.buffer at 64 : memref<8xf32>
    exec.launch @k ins(%b : memref<8xf32>) outs(%a : memref<8xf32>) count = 6 grain = 1 modes(write)
    exec.launch @half ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) count = 6 grain = 1 modes(write)
    return
  }
}
