// A kernel reverses in a loop: it is as long for a thousand elements as for ten, or compiling it would take hours.
// RUN: llm-opt %s --spmd-to-kernels | FileCheck %s

// CHECK-LABEL: func.func private @reverse_3x1000
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: %[[FROM:[0-9]+]] = arith.subi %{{.*}}, %[[I]] : index
// CHECK: tensor.extract_slice %{{.*}}[0, %[[FROM]]] [3, 1] [1, 1]
// CHECK: tensor.insert_slice %{{.*}}[0, %[[I]]] [3, 1] [1, 1]
// CHECK: scf.yield
// CHECK-NOT: tensor.extract_slice
func.func @f(%x: tensor<3x1000xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<3x1000xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.reverse %x dim = 1 : tensor<3x1000xf32>
  return %0 : tensor<3x1000xf32>
}
