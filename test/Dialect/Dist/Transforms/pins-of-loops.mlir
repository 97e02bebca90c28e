// What a loop carries keeps a pin of what it is made of, where that is a wish for the value: not one for how a weight is stored, and none of two that differ; of two that would take an axis
// for two dimensions the first dimension has it.
// RUN: llm-opt %s --dist-propagate --dist-insert-reshards | FileCheck %s
dist.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func.func @wish(
// CHECK: graph.repeat 3 carry({{.*}}: tensor<8x8xf32, #dist.sharding<@mesh, [{}, {"y"}]>>)
func.func @wish(%a: tensor<8x8xf32>, %w: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %p = dist.constraint %a <@mesh, [{?}, {"y"}]> : tensor<8x8xf32>
  %r = graph.repeat 3 carry(%p : tensor<8x8xf32>) -> (tensor<8x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8x8xf32>):
    %0 = graph.linear %h, %w contract = 1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    graph.yield %0 : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @storage(
// CHECK: graph.repeat 3 carry({{.*}}: tensor<8x8xf32, #dist.sharding<@mesh, [{}, {"x"}]>>)
func.func @storage(%a: tensor<8x8xf32>, %w: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %p = dist.constraint %a <@mesh, [{?}, {"y"}p1]> : tensor<8x8xf32>
  %r = graph.repeat 3 carry(%p : tensor<8x8xf32>) -> (tensor<8x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8x8xf32>):
    %0 = graph.linear %h, %w contract = 1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    graph.yield %0 : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @differ(
// CHECK: graph.repeat 3 carry({{.*}}: tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}]>>)
func.func @differ(%a: tensor<8x8xf32>, %w: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) -> tensor<8x8xf32> {
  %p = dist.constraint %a <@mesh, [{?}, {"y"}]> : tensor<8x8xf32>
  %r = graph.repeat 3 carry(%p : tensor<8x8xf32>) -> (tensor<8x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8x8xf32>):
    %0 = graph.linear %h, %w contract = 1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = dist.constraint %0 <@mesh, [{?}, {"x"}]> : tensor<8x8xf32>
    graph.yield %1 : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @one_axis(
// CHECK: graph.repeat 3 carry({{.*}}: tensor<8x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>)
func.func @one_axis(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %p = dist.constraint %a <@mesh, [{?}, {"x"}]> : tensor<8x8xf32>
  %r = graph.repeat 3 carry(%p : tensor<8x8xf32>) -> (tensor<8x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8x8xf32>):
    %0 = graph.neg %h : tensor<8x8xf32>
    %1 = dist.constraint %0 <@mesh, [{"x"}, {?}]> : tensor<8x8xf32>
    graph.yield %1 : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}
