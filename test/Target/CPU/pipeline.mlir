// RUN: llm-opt %s --cpu-kernels-to-llvm=cpu=x86-64-v4 | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: llm-opt %s --cpu-kernels-to-llvm=cpu=x86-64-v3 | FileCheck %s --check-prefixes=CHECK,NARROW

// From tensors to LLVM: vectors of the target's width, no library call, no allocation.
// CHECK-LABEL: llvm.func @silu(
// CHECK: llvm.call @silu.body
// CHECK-LABEL: llvm.func internal @silu.body
// CHECK-NOT: llvm.call
// WIDE: llvm.load %{{.*}} : !llvm.ptr -> vector<16xf32>
// NARROW: llvm.load %{{.*}} : !llvm.ptr -> vector<8xf32>
// CHECK-NOT: llvm.call
// CHECK: llvm.return
func.func @silu(%a: tensor<8x64xf32>, %out: tensor<8x64xf32>, %begin: index, %end: index) -> tensor<8x64xf32> attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %begin to %end step %c1 iter_args(%o = %out) -> (tensor<8x64xf32>) {
    %x = tensor.extract_slice %a[%i, 0][1, 64][1, 1] : tensor<8x64xf32> to tensor<1x64xf32>
    %e = tensor.empty() : tensor<1x64xf32>
    %n = linalg.negf ins(%x : tensor<1x64xf32>) outs(%e : tensor<1x64xf32>) -> tensor<1x64xf32>
    %p = linalg.exp ins(%n : tensor<1x64xf32>) outs(%e : tensor<1x64xf32>) -> tensor<1x64xf32>
    %d = linalg.map { arith.addf } ins(%p, %p : tensor<1x64xf32>, tensor<1x64xf32>) outs(%e : tensor<1x64xf32>)
    %y = linalg.div ins(%x, %d : tensor<1x64xf32>, tensor<1x64xf32>) outs(%e : tensor<1x64xf32>) -> tensor<1x64xf32>
    %m = tensor.insert_slice %y into %o[%i, 0][1, 64][1, 1] : tensor<1x64xf32> into tensor<8x64xf32>
    scf.yield %m : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}
