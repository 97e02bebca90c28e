// Collectives work on contiguous blocks: copies that bring blocks together stand in the program, and only where blocks are not together anyway.
// RUN: llm-opt %s --spmd-to-kernels | FileCheck %s

dist.mesh @mesh = <["a"=2, "b"=2]>

// Everything before the dimension has size 1: no copy.
// CHECK-LABEL: func.func @outermost
// CHECK-NOT: exec.launch
// CHECK: exec.collective all_gather none over [#dist.axis_ref<"a">] ins({{.*}} : tensor<1x4x3xf32>) outs({{.*}} : tensor<1x8x3xf32>)
// CHECK-NOT: exec.launch
// CHECK: return
func.func @outermost(%x: tensor<1x4x3xf32, #dist.sharding<@mesh, [{}, {"a"}, {}], global=[1, 8, 3]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<1x8x3xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1, 8, 3]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.all_gather %x dim = 1 axes = {"a"} : tensor<1x4x3xf32, #dist.sharding<@mesh, [{}, {"a"}, {}], global=[1, 8, 3]>> -> tensor<1x8x3xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1, 8, 3]>>
  return %0 : tensor<1x8x3xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1, 8, 3]>>
}

// CHECK-LABEL: func.func @scatter_columns
// CHECK: exec.launch @transpose{{.*}} ins({{.*}} : tensor<4x2x3xf32>) outs({{.*}} : tensor<2x4x3xf32>)
// CHECK: exec.collective reduce_scatter sum over [#dist.axis_ref<"a">] ins({{.*}} : tensor<2x4x3xf32>) outs({{.*}} : tensor<4x3xf32>)
// CHECK-NOT: exec.launch
// CHECK: return
func.func @scatter_columns(%x: tensor<4x6xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"a"}, global=[4, 6]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<4x3xf32, #dist.sharding<@mesh, [{}, {"a"}], global=[4, 6]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.reduce_scatter %x dim = 1 axes = {"a"} : tensor<4x6xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"a"}, global=[4, 6]>> -> tensor<4x3xf32, #dist.sharding<@mesh, [{}, {"a"}], global=[4, 6]>>
  return %0 : tensor<4x3xf32, #dist.sharding<@mesh, [{}, {"a"}], global=[4, 6]>>
}

// The copy after the gather is one kernel with what uses the value.
// CHECK-LABEL: func.func @fused
// CHECK: exec.collective all_gather
// CHECK: exec.launch
// CHECK-NOT: exec.launch
// CHECK: return
func.func @fused(%x: tensor<4x3xf32, #dist.sharding<@mesh, [{}, {"a"}], global=[4, 6]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<4x6xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 6]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.all_gather %x dim = 1 axes = {"a"} : tensor<4x3xf32, #dist.sharding<@mesh, [{}, {"a"}], global=[4, 6]>> -> tensor<4x6xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 6]>>
  return %0 : tensor<4x6xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 6]>>
}

// Who exchanges with whom follows from the shardings: nothing is listed per device.
// CHECK-LABEL: func.func @permute
// CHECK: exec.collective collective_permute none over [#dist.axis_ref<"a">, #dist.axis_ref<"b">]
// CHECK-SAME: from = #dist.sharding<@mesh, [{"a"}], global=[4]>, to = #dist.sharding<@mesh, [{"b"}], global=[4]>
func.func @permute(%x: tensor<2xf32, #dist.sharding<@mesh, [{"a"}], global=[4]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<2xf32, #dist.sharding<@mesh, [{"b"}], global=[4]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.collective_permute %x : tensor<2xf32, #dist.sharding<@mesh, [{"a"}], global=[4]>> -> tensor<2xf32, #dist.sharding<@mesh, [{"b"}], global=[4]>>
  return %0 : tensor<2xf32, #dist.sharding<@mesh, [{"b"}], global=[4]>>
}

// CHECK-LABEL: func.func @mirror
// CHECK: exec.collective collective_permute none over [#dist.axis_ref<"a">] {{.*}}mirrored = [#dist.axis_ref<"a">]
func.func @mirror(%x: tensor<2xf32, #dist.sharding<@mesh, [{"a"}], global=[4]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<2xf32, #dist.sharding<@mesh, [{"a"}], global=[4]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.collective_permute %x mirrored = {"a"} : tensor<2xf32, #dist.sharding<@mesh, [{"a"}], global=[4]>> -> tensor<2xf32, #dist.sharding<@mesh, [{"a"}], global=[4]>>
  return %0 : tensor<2xf32, #dist.sharding<@mesh, [{"a"}], global=[4]>>
}

// A rank has an index in each group: which rows it takes says one, which columns another.
// CHECK-LABEL: func.func @two_groups
// CHECK-DAG: %[[A:.*]] = exec.group_index [#dist.axis_ref<"a">]
// CHECK-DAG: %[[B:.*]] = exec.group_index [#dist.axis_ref<"b">]
// CHECK: exec.launch {{.*}} scalars(%[[A]])
// CHECK: exec.launch {{.*}} scalars(%[[B]])
func.func @two_groups(%x: tensor<4x6xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 6]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<2x3xf32, #dist.sharding<@mesh, [{"a"}, {"b"}], global=[4, 6]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.all_slice %x dim = 0 axes = {"a"} : tensor<4x6xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 6]>> -> tensor<2x6xf32, #dist.sharding<@mesh, [{"a"}, {}], global=[4, 6]>>
  %1 = dist.all_slice %0 dim = 1 axes = {"b"} : tensor<2x6xf32, #dist.sharding<@mesh, [{"a"}, {}], global=[4, 6]>> -> tensor<2x3xf32, #dist.sharding<@mesh, [{"a"}, {"b"}], global=[4, 6]>>
  return %1 : tensor<2x3xf32, #dist.sharding<@mesh, [{"a"}, {"b"}], global=[4, 6]>>
}
