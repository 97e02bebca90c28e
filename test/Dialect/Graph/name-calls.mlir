// A value is called what graph.name, or the result, says; or else as the parameter or the named value that it is made from.
// RUN: llm-opt %s --graph-name-calls --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// What is made of an op keeps its name: derivatives say that they are.
// RUN: llm-opt %s --graph-name-calls --graph-differentiate --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=BACKWARD

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<4x8xf32>, %w: tensor<3x8x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers.w"})
    -> (tensor<f32> {graph.kind = #graph.kind<output>, graph.name = "loss"}) {
  // CHECK: graph.exp {{.*}} loc(fused<"input">[
  %e = graph.exp %x : tensor<4x8xf32>
  %n = graph.name %e "input" ["row", "hidden"] : tensor<4x8xf32>
  // A loop makes no value of its own; its slices are of the parameter.
  %y = graph.repeat 3 carry(%n : tensor<4x8xf32>) stack(%w : tensor<3x8x8xf32>) -> (tensor<4x8xf32>) {
  ^bb0(%i: tensor<i32>, %c: tensor<4x8xf32>, %slice: tensor<8x8xf32>):
    // CHECK: graph.linear {{.*}} loc(fused<"layers.w">[
    %l = graph.linear %c, %slice contract = 1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    // CHECK: graph.silu {{.*}} loc(fused<"layers.w">[
    %s = graph.silu %l : tensor<4x8xf32>
    graph.yield %s : tensor<4x8xf32>
  }
  // CHECK: graph.reduce {{.*}} loc(fused<"loss">[
  // BACKWARD: graph.repeat 3 reverse
  // Memory is counted by what belongs to backward.
  // BACKWARD: graph.einsum {{.*}} loc(fused<1 : i32>[fused<{number = {{[0-9]+}} : i64, part_of = "gradient of linear"}>[fused<"gradient of layers.w">[fused<"layers.w">[
  %loss = graph.reduce sum %y dims = [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
