// An allocation marked as the image's is no temporary but a global variable, zero when the image is loaded.
// RUN: llm-opt %s --pass-pipeline='builtin.module(func.func(cuda-place-shared),cuda-outline-kernels)' | FileCheck %s

// CHECK: exec.device_kernel @count threads = 32 shared = 0
// CHECK: llvm.mlir.global internal @count_memory0(dense<0> : tensor<4xi32>) {addr_space = 1 : i32, alignment = 64 : i64} : !llvm.array<4 x i32>
// CHECK-LABEL: llvm.func ptx_kernelcc @count
// CHECK: llvm.mlir.addressof @count_memory0 : !llvm.ptr<1>
func.func @count(%out: memref<4xi32> {tessera.output}, %begin: index, %end: index) attributes {tessera.kernel, tessera.threads = 32 : i64} {
  %counters = memref.alloc() {tessera.image_memory} : memref<4xi32>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %old = memref.load %counters[%zero] : memref<4xi32>
  %new = arith.addi %old, %one : i32
  memref.store %new, %counters[%zero] : memref<4xi32>
  memref.store %new, %out[%zero] : memref<4xi32>
  return
}
