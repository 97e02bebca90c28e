// Loops that hand on what they are given: its padding is as finite as where it comes from, a stack or the value
// that the loop begins with, and not as what stands in the place that it goes to.
// RUN: llm-judge %s --entry=slice --pipeline=tessera-shard
// RUN: llm-judge %s --entry=carried --pipeline=tessera-shard
// RUN: llm-opt %s --tessera-shard | FileCheck %s
dist.mesh @mesh = <["x"=4]>

// CHECK-LABEL: @slice
// CHECK: graph.repeat
// CHECK: graph.mask_padding
func.func @slice(%i: tensor<5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>, graph.kind = #graph.kind<input>, graph.name = "i"},
                 %x: tensor<2x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>, graph.kind = #graph.kind<input>, graph.name = "x"},
                 %w: tensor<5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>, graph.kind = #graph.kind<parameter>, graph.name = "w"})
    -> (tensor<2xf32> {graph.kind = #graph.kind<output>, graph.name = "o"}, tensor<5xf32> {graph.kind = #graph.kind<output>, graph.name = "c"}) {
  %a = graph.mul %x, %x : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  %b = graph.mul %a, %a : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  %s = graph.exp %b : tensor<2x5xf32>
  %r:2 = graph.repeat 2 carry(%i : tensor<5xf32>) stack(%s : tensor<2x5xf32>) -> (tensor<5xf32>, tensor<2xf32>) {
  ^bb0(%n: tensor<i32>, %c: tensor<5xf32>, %l: tensor<5xf32>):
    %p = graph.einsum "a,a->" %l, %w : (tensor<5xf32>, tensor<5xf32>) -> tensor<f32>
    graph.yield %l, %p : tensor<5xf32>, tensor<f32>
  }
  return %r#1, %r#0 : tensor<2xf32>, tensor<5xf32>
}

// CHECK-LABEL: @carried
// CHECK: graph.repeat
// CHECK: graph.mask_padding
func.func @carried(%i: tensor<9xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>, graph.kind = #graph.kind<input>, graph.name = "i"},
                   %x: tensor<9xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>, graph.kind = #graph.kind<input>, graph.name = "x"},
                   %w: tensor<9xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>, graph.kind = #graph.kind<parameter>, graph.name = "w"})
    -> (tensor<2xf32> {graph.kind = #graph.kind<output>, graph.name = "o"}, tensor<9xf32> {graph.kind = #graph.kind<output>, graph.name = "c"}) {
  %a = graph.mul %x, %x : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xf32>
  %b = graph.mul %a, %a : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xf32>
  %s = graph.exp %b : tensor<9xf32>
  %r:3 = graph.repeat 2 carry(%i, %s : tensor<9xf32>, tensor<9xf32>) -> (tensor<9xf32>, tensor<9xf32>, tensor<2xf32>) {
  ^bb0(%n: tensor<i32>, %c: tensor<9xf32>, %l: tensor<9xf32>):
    %p = graph.einsum "a,a->" %l, %w : (tensor<9xf32>, tensor<9xf32>) -> tensor<f32>
    graph.yield %l, %c, %p : tensor<9xf32>, tensor<9xf32>, tensor<f32>
  }
  return %r#2, %r#0 : tensor<2xf32>, tensor<9xf32>
}

