// A reduction in parts whose parts are put together in the same kernel: no loop runs over them, so the dimension that is cut stands as it is. Parts lie along the first,
// a middle and the last of what is reduced.
// REQUIRES: standin
// RUN: env TESSERA_PTXAS= %standin llm-judge %s --rung=binary --target=cuda --target-options=grain=256 --seed=%seed
// RUN: %build/bin/llm-judge-fused %s --rung=binary --target=fused --seed=%seed
// RUN: %build/bin/llm-judge-fused %s --rung=binary --target=fused --target-options=small=1 --seed=%seed
// RUN: llm-opt %s --spmd-to-kernels="target=cuda target-options=grain=256" | FileCheck %s

// CHECK: func.func private @reduce_1(
// Four parts of two.
// CHECK: %[[BEGIN:.*]] = arith.muli %{{.*}}, %c2
// CHECK: tensor.extract_slice %{{.*}}[0, %[[BEGIN]], 0] [1, 2, 409]
func.func @parts(%x: tensor<1x8x409xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %y: tensor<7x8x11xf32> {graph.kind = #graph.kind<input>, graph.name = "y"}, %w: tensor<3x7x8x11xf32> {graph.kind = #graph.kind<input>, graph.name = "w"}, %z: tensor<7x11x8xf32> {graph.kind = #graph.kind<input>, graph.name = "z"}, %v: tensor<3x7x11x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v"})
    -> (tensor<1xf32> {graph.kind = #graph.kind<output>, graph.name = "a"}, tensor<3xf32> {graph.kind = #graph.kind<output>, graph.name = "b"}, tensor<3xf32> {graph.kind = #graph.kind<output>, graph.name = "c"}) {
  %a = graph.reduce sum %x dims = [1, 2] : (tensor<1x8x409xf32>) -> tensor<1xf32>
  %b = graph.linear %y, %w contract = 3 : (tensor<7x8x11xf32>, tensor<3x7x8x11xf32>) -> tensor<3xf32>
  %c = graph.linear %z, %v contract = 3 : (tensor<7x11x8xf32>, tensor<3x7x11x8xf32>) -> tensor<3xf32>
  return %a, %b, %c : tensor<1xf32>, tensor<3xf32>, tensor<3xf32>
}
