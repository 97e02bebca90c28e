// Parameters and repeated layers print what they parse.
// RUN: llm-opt %s | llm-opt | FileCheck %s

// CHECK: graph.parameter @embed : tensor<32x8xf32> from [#graph.source<"wte.weight", file = [32, 8]>]
graph.parameter @embed : tensor<32x8xf32> from [#graph.source<"wte.weight", file = [32, 8]>]
// CHECK: graph.parameter @layers.q : tensor<4x2x3x8x48xf32> stacked from [#graph.source<"model.layers.{}.self_attn.q_proj.weight", file = [48, 48], reshape = [2, 3, 8, 48]>]
graph.parameter @layers.q : tensor<4x2x3x8x48xf32> stacked
    from [#graph.source<"model.layers.{}.self_attn.q_proj.weight", file = [48, 48], reshape = [2, 3, 8, 48]>]
// GPT-2: q is the first third of the columns, input-major.
// CHECK: graph.parameter @gpt.q : tensor<2x12x4x12xf32> stacked from [#graph.source<"h.{}.attn.c_attn.weight", file = [12, 144], reshape = [12, 3, 12, 4], slice = [0, 12, 0, 1, 0, 12, 0, 4], permute = [1, 2, 3, 0]>]
graph.parameter @gpt.q : tensor<2x12x4x12xf32> stacked from [#graph.source<"h.{}.attn.c_attn.weight", file = [12, 144],
    reshape = [12, 3, 12, 4], slice = [0, 12, 0, 1, 0, 12, 0, 4], permute = [1, 2, 3, 0]>]
// CHECK: graph.parameter @turned : tensor<3x2xf32> from [#graph.source<"t", file = [2, 4], slice = [0, 2, 1, 4], permute = [1, 0]>]
graph.parameter @turned : tensor<3x2xf32> from [#graph.source<"t", file = [2, 4], slice = [0, 2, 1, 4], permute = [1, 0]>]
// CHECK: graph.parameter @joined : tensor<6x8xf32> from [#graph.source<"a", file = [2, 8]>, #graph.source<"b", file = [4, 8]>]
graph.parameter @joined : tensor<6x8xf32> from [#graph.source<"a", file = [2, 8]>, #graph.source<"b", file = [4, 8]>]

// CHECK-LABEL: func.func @layers
func.func @layers(%x: tensor<1x16x48xf32>, %w: tensor<4x48xf32>) -> tensor<1x16x48xf32> {
  // CHECK: graph.repeat 4 carry(%{{.*}} : tensor<1x16x48xf32>) stack(%{{.*}} : tensor<4x48xf32>) -> (tensor<1x16x48xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<i32>, %{{.*}}: tensor<1x16x48xf32>, %{{.*}}: tensor<48xf32>):
  %r = graph.repeat 4 carry(%x : tensor<1x16x48xf32>) stack(%w : tensor<4x48xf32>) -> (tensor<1x16x48xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<1x16x48xf32>, %wi: tensor<48xf32>):
    %y = graph.mul %h, %wi : (tensor<1x16x48xf32>, tensor<48xf32>) -> tensor<1x16x48xf32>
    // CHECK: graph.yield %{{.*}} : tensor<1x16x48xf32>
    graph.yield %y : tensor<1x16x48xf32>
  }
  return %r : tensor<1x16x48xf32>
}

// Five layers in a period of two bodies: the first runs three times.
// CHECK-LABEL: func.func @period
func.func @period(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: graph.repeat 5 carry(%{{.*}} : tensor<8xf32>) -> (tensor<8xf32>) {
  %r = graph.repeat 5 carry(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8xf32>):
    %y = graph.silu %h : tensor<8xf32>
    graph.yield %y : tensor<8xf32>
  // CHECK: }, {
  }, {
  ^bb0(%i: tensor<i32>, %h: tensor<8xf32>):
    %y = graph.neg %h : tensor<8xf32>
    graph.yield %y : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// From the last layer to the first; what every iteration carries comes back as a stack.
// CHECK-LABEL: func.func @stacks
func.func @stacks(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  // CHECK: graph.repeat 4 reverse carry(%{{.*}} : tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  %r, %all = graph.repeat 4 reverse carry(%x : tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8xf32>):
    %y = graph.silu %h : tensor<8xf32>
    // CHECK: graph.yield %{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32>
    graph.yield %y, %h : tensor<8xf32>, tensor<8xf32>
  }
  return %r, %all : tensor<8xf32>, tensor<4x8xf32>
}
