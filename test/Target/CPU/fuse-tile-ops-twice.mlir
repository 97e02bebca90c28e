// A consumer that reads its producer through two operands, when the producer has other readers too: fusion ends (it used to rewrite the fused op's own operand,
// for ever) and the other reader gets the producer's value.
// RUN: llm-opt %s --pass-pipeline='builtin.module(func.func(fuse-tile-ops))' | FileCheck %s

#id = affine_map<(i) -> (i)>

// CHECK-LABEL: func.func @twice
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: return
func.func @twice(%x: tensor<8xf32>, %o: tensor<8xf32>, %p: tensor<8xf32>, %b: index, %e: index) -> (tensor<8xf32>, tensor<8xf32>) attributes {tessera.kernel} {
  %t = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%t : tensor<8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%0, %0 : tensor<8xf32>, tensor<8xf32>) outs(%o : tensor<8xf32>) {
  ^bb0(%a: f32, %a2: f32, %c: f32):
    %v = arith.mulf %a, %a2 : f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%0, %1 : tensor<8xf32>, tensor<8xf32>) outs(%p : tensor<8xf32>) {
  ^bb0(%a: f32, %a2: f32, %c: f32):
    %v = arith.addf %a, %a2 : f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}
