// 5 rows over 3 ranks: every shard holds 2, and the sixth is padding. It neither arrives nor leaves: what is gathered is 5 rows, and so is what is
// scattered. Where a dimension in front of it makes rows of blocks, they are gathered and scattered row by row; rows shorter than a cache line go one block
// after another, are put in their places by a kernel, and what is too much is cut, or filled up with zeros, by one.
// RUN: llm-opt %s --spmd-to-kernels | FileCheck %s

dist.mesh @mesh = <["x"=3]>

// CHECK-LABEL: func.func @rows
// CHECK-NOT: exec.launch
// CHECK: exec.collective all_gather none over [#dist.axis_ref<"x">] ins({{.*}} : tensor<2x4xf32>) outs({{.*}} : tensor<5x4xf32>) {cut = 4 : i64}
// CHECK-NOT: exec.reshape
// CHECK-NOT: exec.launch
// CHECK: return
func.func @rows(%x: tensor<2x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 4]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<5x4xf32, #dist.sharding<@mesh, [{}, {}], global=[5, 4]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.all_gather %x dim = 0 axes = {"x"} : tensor<2x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 4]>> -> tensor<5x4xf32, #dist.sharding<@mesh, [{}, {}], global=[5, 4]>>
  return %0 : tensor<5x4xf32, #dist.sharding<@mesh, [{}, {}], global=[5, 4]>>
}

// A row of a block is 2 x 8 elements, a cache line.
// CHECK-LABEL: func.func @layers
// CHECK-NOT: exec.launch
// CHECK: exec.collective all_gather none {{.*}} ins({{.*}} : tensor<4x2x8xf32>) outs({{.*}} : tensor<4x5x8xf32>) {cut = 32 : i64, rows = 4 : i64}
// CHECK-NOT: exec.launch
// CHECK: return
func.func @layers(%x: tensor<4x2x8xf32, #dist.sharding<@mesh, [{}, {"x"}, {}], global=[4, 5, 8]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<4x5x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[4, 5, 8]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.all_gather %x dim = 1 axes = {"x"} : tensor<4x2x8xf32, #dist.sharding<@mesh, [{}, {"x"}, {}], global=[4, 5, 8]>> -> tensor<4x5x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[4, 5, 8]>>
  return %0 : tensor<4x5x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[4, 5, 8]>>
}

// 1024 rows can be moved one by one, as they are; not in three moves each.
// CHECK-LABEL: func.func @many
// CHECK: exec.collective all_gather {{.*}} ins({{.*}} : tensor<1024x2x8xf32>) outs({{.*}} : tensor<1024x6x8xf32>) {rows = 1024 : i64}
// CHECK: exec.collective all_gather {{.*}} ins(%{{.*}} : tensor<1024x2x8xf32>) outs(%{{.*}} : tensor<3x1024x2x8xf32>)
// CHECK: exec.launch
func.func @many(%x: tensor<1024x2x8xf32, #dist.sharding<@mesh, [{}, {"x"}, {}], global=[1024, 6, 8]>> {graph.kind = #graph.kind<input>, graph.name = "x"},
                %y: tensor<1024x2x8xf32, #dist.sharding<@mesh, [{}, {"x"}, {}], global=[1024, 5, 8]>> {graph.kind = #graph.kind<input>, graph.name = "y"})
    -> (tensor<1024x6x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1024, 6, 8]>> {graph.kind = #graph.kind<output>, graph.name = "a"},
        tensor<1024x5x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1024, 5, 8]>> {graph.kind = #graph.kind<output>, graph.name = "b"}) {
  %0 = dist.all_gather %x dim = 1 axes = {"x"} : tensor<1024x2x8xf32, #dist.sharding<@mesh, [{}, {"x"}, {}], global=[1024, 6, 8]>> -> tensor<1024x6x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1024, 6, 8]>>
  %1 = dist.all_gather %y dim = 1 axes = {"x"} : tensor<1024x2x8xf32, #dist.sharding<@mesh, [{}, {"x"}, {}], global=[1024, 5, 8]>> -> tensor<1024x5x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1024, 5, 8]>>
  return %0, %1 : tensor<1024x6x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1024, 6, 8]>>, tensor<1024x5x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1024, 5, 8]>>
}

// Blocks of columns come one after another; a kernel puts them side by side.
// CHECK-LABEL: func.func @columns
// CHECK: exec.collective all_gather {{.*}} ins(%{{.*}} : tensor<4x2xf32>) outs(%{{.*}} : tensor<3x4x2xf32>)
// CHECK: exec.launch @transpose{{.*}} ins(%{{.*}} : tensor<3x4x2xf32>) outs(%{{.*}} : tensor<4x3x2xf32>)
// CHECK: exec.reshape %{{.*}} : tensor<4x3x2xf32> -> tensor<4x6xf32>
// CHECK: exec.launch @[[CUT:resize_4x5]] ins(%{{.*}} : tensor<4x6xf32>) outs(%{{.*}} : tensor<4x5xf32>)
func.func @columns(%x: tensor<4x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 5]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<4x5xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 5]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.all_gather %x dim = 1 axes = {"x"} : tensor<4x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 5]>> -> tensor<4x5xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 5]>>
  return %0 : tensor<4x5xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 5]>>
}

// A slice takes its shard's number; the last rank's second row does not exist.
// CHECK-LABEL: func.func @slice
// CHECK: %[[SHARD:.*]] = exec.group_index [#dist.axis_ref<"x">]
// CHECK: exec.launch @resize_2x4 ins(%{{.*}} : tensor<5x4xf32>) outs(%{{.*}} : tensor<2x4xf32>) scalars(%[[SHARD]])
func.func @slice(%x: tensor<5x4xf32, #dist.sharding<@mesh, [{}, {}], global=[5, 4]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<2x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 4]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.all_slice %x dim = 0 axes = {"x"} : tensor<5x4xf32, #dist.sharding<@mesh, [{}, {}], global=[5, 4]>> -> tensor<2x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 4]>>
  return %0 : tensor<2x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 4]>>
}

// CHECK-LABEL: func.func @scatter(
// CHECK-NOT: exec.launch
// CHECK: exec.collective reduce_scatter sum over {{.*}} ins(%{{.*}} : tensor<5x4xf32>) outs(%{{.*}} : tensor<2x4xf32>) {cut = 4 : i64}
func.func @scatter(%x: tensor<5x4xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[5, 4]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<2x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 4]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.reduce_scatter %x dim = 0 axes = {"x"} : tensor<5x4xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[5, 4]>> -> tensor<2x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 4]>>
  return %0 : tensor<2x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 4]>>
}

// CHECK-LABEL: func.func @scatter_layers
// CHECK-NOT: exec.launch
// CHECK: exec.collective reduce_scatter sum over {{.*}} ins(%{{.*}} : tensor<4x5x8xf32>) outs(%{{.*}} : tensor<4x2x8xf32>) {cut = 32 : i64, rows = 4 : i64}
func.func @scatter_layers(%x: tensor<4x5x8xf32, #dist.sharding<@mesh, [{}, {}, {}], partial=sum{"x"}, global=[4, 5, 8]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<4x2x8xf32, #dist.sharding<@mesh, [{}, {"x"}, {}], global=[4, 5, 8]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.reduce_scatter %x dim = 1 axes = {"x"} : tensor<4x5x8xf32, #dist.sharding<@mesh, [{}, {}, {}], partial=sum{"x"}, global=[4, 5, 8]>> -> tensor<4x2x8xf32, #dist.sharding<@mesh, [{}, {"x"}, {}], global=[4, 5, 8]>>
  return %0 : tensor<4x2x8xf32, #dist.sharding<@mesh, [{}, {"x"}, {}], global=[4, 5, 8]>>
}

// CHECK-LABEL: func.func @scatter_columns
// CHECK: exec.launch @resize_4x6 ins(%{{.*}} : tensor<4x5xf32>) outs(%{{.*}} : tensor<4x6xf32>)
// CHECK: exec.collective reduce_scatter sum over {{.*}} ins(%{{.*}} : tensor<3x4x2xf32>) outs(%{{.*}} : tensor<4x2xf32>)
func.func @scatter_columns(%x: tensor<4x5xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 5]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<4x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 5]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.reduce_scatter %x dim = 1 axes = {"x"} : tensor<4x5xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[4, 5]>> -> tensor<4x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 5]>>
  return %0 : tensor<4x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 5]>>
}

// Columns are split (5 -> 6 first) and brought together by receiver, rows joined (6 -> 5 afterwards, at the end of memory).
// CHECK-LABEL: func.func @exchange
// CHECK: exec.launch @resize_2x6 ins(%{{.*}} : tensor<2x5xf32>)
// CHECK: exec.launch @transpose{{.*}} ins(%{{.*}} : tensor<2x3x2xf32>) outs(%{{.*}} : tensor<3x2x2xf32>)
// CHECK: exec.collective all_to_all none over {{.*}} ins(%{{.*}} : tensor<3x2x2xf32>) outs(%{{.*}} : tensor<3x2x2xf32>)
// CHECK: exec.reshape %{{.*}} : tensor<6x2xf32> -> tensor<5x2xf32>
func.func @exchange(%x: tensor<2x5xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 5]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<5x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[5, 5]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.all_to_all %x from = 0 to = 1 axes = {"x"} : tensor<2x5xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 5]>> -> tensor<5x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[5, 5]>>
  return %0 : tensor<5x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[5, 5]>>
}

// Pieces that do not line up are sent by the layouts before and after; nothing is cut or filled.
// CHECK-LABEL: func.func @sends
// CHECK-NOT: exec.launch
// CHECK: exec.collective grouped_send none over [#dist.axis_ref<"x">] ins({{.*}} : tensor<2x4xf32>) outs({{.*}} : tensor<5x2xf32>)
// CHECK-SAME: from = #dist.sharding<@mesh, [{"x"}, {}], global=[5, 4]>, to = #dist.sharding<@mesh, [{}, {"x"}], global=[5, 4]>, why = "uneven"
// CHECK-NOT: exec.launch
// CHECK: return
func.func @sends(%x: tensor<2x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 4]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<5x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[5, 4]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.grouped_send %x {why = "uneven"} : tensor<2x4xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[5, 4]>> -> tensor<5x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[5, 4]>>
  return %0 : tensor<5x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[5, 4]>>
}

// Where padding matters to a reduction, the kernel masks by the shard's place and the global size.
// CHECK-LABEL: func.func @mask
// CHECK: exec.launch @[[MASK:mask_padding_reduce.*]] ins(%{{.*}}) outs(%{{.*}}) scalars(%{{.*}})
// CHECK: func.func private @[[MASK]]
// CHECK: %[[SIZE:.*]] = arith.constant 2 : index
// CHECK: %[[OFFSET:.*]] = arith.muli %{{.*}}, %[[SIZE]] : index
// CHECK: arith.constant 5 : index
// CHECK: linalg.index 1
func.func @mask(%x: tensor<4x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 5]>> {graph.kind = #graph.kind<input>, graph.name = "x"})
    -> (tensor<4xf32, #dist.sharding<@mesh, [{}], partial=max{"x"}, global=[4]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.mask_padding %x dims = [1] value = 0xFFF0000000000000 : tensor<4x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 5]>>
  %1 = graph.reduce max %0 dims = [1] : (tensor<4x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 5]>>) -> tensor<4xf32, #dist.sharding<@mesh, [{}], partial=max{"x"}, global=[4]>>
  return %1 : tensor<4xf32, #dist.sharding<@mesh, [{}], partial=max{"x"}, global=[4]>>
}
