// Types that agree with the rule verify, on both rungs.
// RUN: llm-opt %s | FileCheck %s

// CHECK: dist.mesh
dist.mesh @mesh = <["x"=2, "y"=4]>

// Column then row parallel: the contraction over y leaves a partial sum, which passes through linear ops.
func.func @mlp(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>, %w1: tensor<16x8xf32, #dist.sharding<@mesh, [{"y"}, {}]>>,
               %w2: tensor<8x16xf32, #dist.sharding<@mesh, [{}, {"y"}]>>) {
  %h = graph.linear %x, %w1 contract = 1 : (tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>, tensor<16x8xf32, #dist.sharding<@mesh, [{"y"}, {}]>>)
    -> tensor<4x16xf32, #dist.sharding<@mesh, [{"x"}, {"y"}]>>
  %o = graph.linear %h, %w2 contract = 1 : (tensor<4x16xf32, #dist.sharding<@mesh, [{"x"}, {"y"}]>>, tensor<8x16xf32, #dist.sharding<@mesh, [{}, {"y"}]>>)
    -> tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}], partial=sum{"y"}>>
  %n = graph.neg %o : tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}], partial=sum{"y"}>>
  %s = graph.add %n, %o : (tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}], partial=sum{"y"}>>, tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}], partial=sum{"y"}>>)
    -> tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}], partial=sum{"y"}>>
  return
}

// Local types: the rule is that of the global sizes, a dimension that is split to size 1 is no broadcast.
func.func @local(%x: tensor<1x8xf32, #dist.sharding<@mesh, [{"y"}, {}], global=[4, 8]>>, %y: tensor<1x8xf32, #dist.sharding<@mesh, [{"y"}, {}], global=[4, 8]>>) {
  %0 = graph.add %x, %y : (tensor<1x8xf32, #dist.sharding<@mesh, [{"y"}, {}], global=[4, 8]>>, tensor<1x8xf32, #dist.sharding<@mesh, [{"y"}, {}], global=[4, 8]>>)
    -> tensor<1x8xf32, #dist.sharding<@mesh, [{"y"}, {}], global=[4, 8]>>
  %1 = graph.reshape %0 : (tensor<1x8xf32, #dist.sharding<@mesh, [{"y"}, {}], global=[4, 8]>>) -> tensor<8xf32, #dist.sharding<@mesh, [{"y"}], global=[32]>>
  return
}

// Monotone ops keep a partial maximum.
func.func @maximum(%x: tensor<4x8xf32, #dist.sharding<@mesh, [{"y"}, {}]>>) {
  %0 = graph.reduce max %x dims = [0] : (tensor<4x8xf32, #dist.sharding<@mesh, [{"y"}, {}]>>) -> tensor<8xf32, #dist.sharding<@mesh, [{}], partial=max{"y"}>>
  %1 = graph.exp %0 : tensor<8xf32, #dist.sharding<@mesh, [{}], partial=max{"y"}>>
  return
}
