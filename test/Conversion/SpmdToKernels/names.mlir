// A kernel's name follows from its ops and shape. Where something else is called so, the kernel gets another name.
// RUN: llm-opt %s --tessera-to-exec | FileCheck %s

// CHECK: graph.parameter @add_8 :
// CHECK: func.func @step
// CHECK: exec.launch @add_8_0 ins
// CHECK: func.func private @add_8_0(
graph.parameter @add_8 : tensor<8xf32> from [#graph.source<"w", file = [8]>]
func.func @step(%x: tensor<8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "add_8"})
    -> (tensor<8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.add %x, %w : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
