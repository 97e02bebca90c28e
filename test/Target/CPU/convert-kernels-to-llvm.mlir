// RUN: llm-opt %s --cpu-convert-kernels-to-llvm='cpu=x86-64-v4 vector-bits=512' --split-input-file --verify-diagnostics | FileCheck %s
// RUN: llm-opt %s --cpu-convert-kernels-to-llvm='native-bf16=false' --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=BITS

// CHECK-LABEL: llvm.func internal @copy(
// CHECK-SAME: %[[BUFFERS:.*]]: !llvm.ptr, %[[SCALARS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK: %[[P0:.*]] = llvm.getelementptr %[[BUFFERS]][0]
// CHECK: %[[A:.*]] = llvm.load %[[P0]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[P1:.*]] = llvm.getelementptr %[[BUFFERS]][1]
// CHECK: %[[B:.*]] = llvm.load %[[P1]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[P2:.*]] = llvm.getelementptr %[[SCALARS]][0]
// CHECK: %[[L:.*]] = llvm.load %[[P2]] : !llvm.ptr -> i64
// CHECK: llvm.call @copy.body(%[[A]], %[[B]], %[[L]], %[[BEGIN]], %[[END]])
// CHECK-LABEL: llvm.func internal @copy.body(
// CHECK-SAME: %{{.*}}: !llvm.ptr {llvm.noalias, llvm.readonly}, %{{.*}}: !llvm.ptr {llvm.noalias}
// CHECK-SAME: passthrough = {{.*}}["target-cpu", "x86-64-v4"], ["prefer-vector-width", "512"]
func.func private @copy(%a: memref<8xf32>, %b: memref<8xf32> {tessera.output}, %layer: index, %begin: index, %end: index)
    attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %x = memref.load %a[%i] : memref<8xf32>
    memref.store %x, %b[%i] : memref<8xf32>
  }
  return
}

// What is no kernel stays.
// CHECK: func.func @other(%{{.*}}: memref<8xf32>)
func.func @other(%a: memref<8xf32>) {
  return
}

// -----

// Kernels that only move bfloat16 move integers where the CPU has none: LLVM would round what it selects.
// BITS-LABEL: llvm.func internal @move.body
// BITS: llvm.mlir.constant(16256 : i16)
// BITS: llvm.select %{{.*}} : i1, i16
// BITS-NOT: bf16
// BITS: llvm.return
func.func private @move(%a: memref<8xbf16>, %b: memref<8xbf16> {tessera.output}, %begin: index, %end: index) attributes {tessera.kernel} {
  %one = arith.constant 1.0 : bf16
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %x = memref.load %a[%i] : memref<8xbf16>
    %first = arith.cmpi eq, %i, %begin : index
    %y = arith.select %first, %one, %x : bf16
    memref.store %y, %b[%i] : memref<8xbf16>
  }
  return
}

// -----

// expected-error @below {{kernel 'tensors' is not on buffers yet: run bufferize-kernels}}
func.func private @tensors(%a: tensor<8xf32>, %begin: index, %end: index) attributes {tessera.kernel} {
  return
}
