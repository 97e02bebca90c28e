// I1: inputs and outputs that do not divide keep their sharding, by padding; others drop axes from them until they divide.
// RUN: llm-opt %s --tessera-shard="mesh=x=4,y=2 shard=a:rows=x,a:cols=y,b:rows=x,c:rows=x,c:cols=y" | FileCheck %s
// RUN: llm-judge %s --entry=two_by_two --pipeline="tessera-shard{mesh=x=4,y=2 shard=a:rows=x,a:cols=y,b:rows=x,c:rows=x,c:cols=y}"
// RUN: llm-judge %s --entry=two_by_three --pipeline="tessera-shard{mesh=x=4,y=2 shard=a:rows=x,a:cols=y,b:rows=x,c:rows=x,c:cols=y}"
// RUN: llm-judge %s --entry=three --pipeline="tessera-shard{mesh=x=4,y=2 shard=a:rows=x,a:cols=y,b:rows=x,c:rows=x,c:cols=y}"

// CHECK-LABEL: func.func @two_by_two
// CHECK-SAME: %arg0: tensor<1x1xf32, #dist.sharding<@mesh, [{"x"}, {"y"}], global=[2, 2]>>
// CHECK-SAME: -> (tensor<1x1xf32, #dist.sharding<@mesh, [{"x"}, {"y"}], global=[2, 2]>>
func.func @two_by_two(%a: tensor<2x2xf32> {graph.kind = #graph.kind<input>, graph.name = "c", graph.dims = ["rows", "cols"]})
    -> (tensor<2x2xf32> {graph.kind = #graph.kind<output>, graph.name = "o"}) {
  // CHECK-NOT: dist.{{all|reduce|coll}}
  %0 = graph.exp %a : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @two_by_three
// CHECK-SAME: %arg0: tensor<1x2xf32, #dist.sharding<@mesh, [{"x"}, {"y"}], global=[2, 3]>>
func.func @two_by_three(%a: tensor<2x3xf32> {graph.kind = #graph.kind<input>, graph.name = "a", graph.dims = ["rows", "cols"]})
    -> (tensor<2x3xf32> {graph.kind = #graph.kind<output>, graph.name = "o2"}, tensor<2xf32> {graph.kind = #graph.kind<output>, graph.name = "s2"}) {
  // exp of padding is 1: it must not be counted.
  // CHECK: %[[E:.*]] = graph.exp %arg0
  // CHECK: %[[M:.*]] = graph.mask_padding %[[E]] dims = [1]
  // CHECK: graph.reduce sum %[[M]]
  // CHECK: dist.all_reduce
  %0 = graph.exp %a : tensor<2x3xf32>
  %1 = graph.reduce sum %0 dims = [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @three
// CHECK-SAME: %arg0: tensor<1xf32, #dist.sharding<@mesh, [{"x"}], global=[3]>>
func.func @three(%a: tensor<3xf32> {graph.kind = #graph.kind<input>, graph.name = "b", graph.dims = ["rows"]}) -> (tensor<3xf32> {graph.kind = #graph.kind<output>, graph.name = "o3"}) {
  // CHECK-NOT: dist.{{all|reduce|coll}}
  %0 = graph.exp %a : tensor<3xf32>
  return %0 : tensor<3xf32>
}
