// Kernels become images: PTX always, cubins where there is a ptxas. The IR that the code generator was given is kept by the hash of each image.
// RUN: rm -rf %t && env TESSERA_PTXAS= TESSERA_KERNEL_IR=%t llm-opt %s --cuda-kernels-to-images | FileCheck %s
// RUN: ls %t | count 1

// CHECK: exec.device_kernel @half threads = 32 shared = 0 per_block = 1
// CHECK-NOT: func.func private @half
// CHECK-NOT: builtin.module
// CHECK: exec.image "compute_80" = "{{.*}}.target sm_80{{.*}}.visible .entry half(
func.func private @half(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %begin: index, %end: index) -> tensor<4x8xf32> attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %h = arith.constant 0.5 : f32
  %r = scf.for %i = %begin to %end step %c1 iter_args(%out = %y) -> (tensor<4x8xf32>) {
    %row = tensor.extract_slice %x[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<8xf32>
    %e = tensor.empty() : tensor<8xf32>
    %n = linalg.map ins(%row : tensor<8xf32>) outs(%e : tensor<8xf32>) (%a: f32, %o: f32) {
      %d = arith.mulf %a, %h : f32
      linalg.yield %d : f32
    }
    %next = tensor.insert_slice %n into %out[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<4x8xf32>
    scf.yield %next : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}
