// Every op and every form of a sharding is printed as it is read.
// RUN: llm-opt %s | llm-opt | FileCheck %s

// CHECK: dist.mesh @mesh = <["dp"=2, "tp"=4]>
dist.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func.func private @types(
// CHECK-SAME: tensor<8x16xf32, #dist.sharding<@mesh, [{"dp"}, {"tp":(1)2, ?}p1], replicated={"tp":(2)2}>>
// CHECK-SAME: tensor<4x4xf32, #dist.sharding<@mesh, [{"dp"}, {"tp"}], global=[8, 13]>>
// CHECK-SAME: tensor<8xf32, #dist.sharding<@mesh, [{?}], partial=max{"dp", "tp":(2)2}>>
// CHECK-SAME: tensor<f32, #dist.sharding<@mesh, []>>
func.func private @types(tensor<8x16xf32, #dist.sharding<@mesh, [{"dp"}, {"tp":(1)2, ?}p1], replicated={"tp":(2)2}>>,
  tensor<4x4xf32, #dist.sharding<@mesh, [{"dp"}, {"tp"}], global=[8, 13]>>,
  tensor<8xf32, #dist.sharding<@mesh, [{?}], partial=max{"dp", "tp":(2)2}>>,
  tensor<f32, #dist.sharding<@mesh, []>>)

// CHECK-LABEL: func.func @constraint
func.func @constraint(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // CHECK: dist.constraint %{{.*}} <@mesh, [{"dp"}, {?}]> : tensor<8x16xf32>
  %0 = dist.constraint %x <@mesh, [{"dp"}, {?}]> : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @reshard
func.func @reshard(%x: tensor<8x16xf32, #dist.sharding<@mesh, [{"dp"}, {}], partial=sum{"tp"}>>) -> tensor<8x16xf32, #dist.sharding<@mesh, [{"dp", "tp"}, {}]>> {
  // CHECK: dist.reshard %{{.*}} {why = "add needs it whole"} : tensor<8x16xf32, #dist.sharding<@mesh, [{"dp"}, {}], partial=sum{"tp"}>> -> tensor<8x16xf32, #dist.sharding<@mesh, [{"dp", "tp"}, {}]>>
  %0 = dist.reshard %x {why = "add needs it whole"} : tensor<8x16xf32, #dist.sharding<@mesh, [{"dp"}, {}], partial=sum{"tp"}>> -> tensor<8x16xf32, #dist.sharding<@mesh, [{"dp", "tp"}, {}]>>
  return %0 : tensor<8x16xf32, #dist.sharding<@mesh, [{"dp", "tp"}, {}]>>
}

!whole = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 16]>>
!rows = tensor<4x16xf32, #dist.sharding<@mesh, [{"dp"}, {}], global=[8, 16]>>
!columns = tensor<8x8xf32, #dist.sharding<@mesh, [{}, {"dp"}], global=[8, 16]>>
!partial = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"dp"}, global=[8, 16]>>
!minor = tensor<4x16xf32, #dist.sharding<@mesh, [{"tp":(2)2}, {}], global=[8, 16]>>

// CHECK-LABEL: func.func @collectives
func.func @collectives(%w: !whole, %r: !rows, %p: !partial) {
  // CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"dp"} {why = "because"} : tensor<4x16xf32
  %0 = dist.all_gather %r dim = 0 axes = {"dp"} {why = "because"} : !rows -> !whole
  // CHECK: dist.contribute %{{.*}} axes = {"dp"} : tensor<8x16xf32
  %c = dist.contribute %w axes = {"dp"} : !whole -> !partial
  // CHECK: dist.all_slice %{{.*}} dim = 1 axes = {"dp"} : tensor<8x16xf32
  %1 = dist.all_slice %w dim = 1 axes = {"dp"} : !whole -> !columns
  // CHECK: dist.all_slice %{{.*}} dim = 0 axes = {"tp":(2)2} : tensor<8x16xf32
  %2 = dist.all_slice %w dim = 0 axes = {"tp":(2)2} : !whole -> !minor
  // CHECK: dist.all_reduce %{{.*}} axes = {"dp"} : tensor<8x16xf32
  %3 = dist.all_reduce %p axes = {"dp"} : !partial -> !whole
  // CHECK: dist.reduce_scatter %{{.*}} dim = 1 axes = {"dp"} : tensor<8x16xf32
  %4 = dist.reduce_scatter %p dim = 1 axes = {"dp"} : !partial -> !columns
  // CHECK: dist.all_to_all %{{.*}} from = 0 to = 1 axes = {"dp"} : tensor<4x16xf32
  %5 = dist.all_to_all %r from = 0 to = 1 axes = {"dp"} : !rows -> !columns
  // CHECK: dist.collective_permute %{{.*}} : tensor<4x16xf32
  %6 = dist.collective_permute %r : !rows -> !minor
  // CHECK: dist.collective_permute %{{.*}} mirrored = {"dp"} {why = "halves"} : tensor<4x16xf32
  %7 = dist.collective_permute %r mirrored = {"dp"} {why = "halves"} : !rows -> !rows
  // CHECK: dist.grouped_send %{{.*}} {why = "uneven"} : tensor<4x16xf32
  %8 = dist.grouped_send %r {why = "uneven"} : !rows -> !minor
  // CHECK: dist.grouped_send %{{.*}} at [3, 0] {why = "part"} : tensor<4x16xf32
  %9 = dist.grouped_send %r at [3, 0] {why = "part"} : !rows -> tensor<2x16xf32, #dist.sharding<@mesh, [{"dp"}, {}], global=[4, 16]>>
  return
}

// Sub-axes: the minor part of an axis is gathered, the major part stays.
// CHECK-LABEL: func.func @part_of_an_axis
func.func @part_of_an_axis(%x: tensor<2x16xf32, #dist.sharding<@mesh, [{"tp"}, {}], global=[8, 16]>>,
                           %p: tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"tp"}, global=[8, 16]>>) {
  // CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"tp":(2)2}
  %0 = dist.all_gather %x dim = 0 axes = {"tp":(2)2} : tensor<2x16xf32, #dist.sharding<@mesh, [{"tp"}, {}], global=[8, 16]>>
    -> tensor<4x16xf32, #dist.sharding<@mesh, [{"tp":(1)2}, {}], global=[8, 16]>>
  // CHECK: dist.all_reduce %{{.*}} axes = {"tp":(1)2}
  %1 = dist.all_reduce %p axes = {"tp":(1)2} : tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"tp"}, global=[8, 16]>>
    -> tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"tp":(2)2}, global=[8, 16]>>
  return
}

// CHECK-LABEL: func.func @to_propagation
func.func @to_propagation(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // CHECK: dist.propagation_barrier %{{.*}} : tensor<8x16xf32>
  %0 = dist.propagation_barrier %x : tensor<8x16xf32>
  // CHECK: dist.propagation_barrier %{{.*}} forward : tensor<8x16xf32>
  %1 = dist.propagation_barrier %0 forward : tensor<8x16xf32>
  // CHECK: dist.propagation_barrier %{{.*}} backward : tensor<8x16xf32>
  %2 = dist.propagation_barrier %1 backward : tensor<8x16xf32>
  // CHECK: dist.propagation_barrier %{{.*}} forward backward : tensor<8x16xf32>
  %3 = dist.propagation_barrier %2 forward backward : tensor<8x16xf32>
  // CHECK: dist.sharding_group %{{.*}} "residual" : tensor<8x16xf32>
  %4 = dist.sharding_group %3 "residual" : tensor<8x16xf32>
  return %4 : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @manual
func.func @manual(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8xf32>) {
  // CHECK: dist.manual_computation over {"dp"} (%arg0 : tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8xf32>)
  // CHECK-SAME: in [#dist.sharding<@mesh, [{"dp", ?}, {?}]>]
  // CHECK-SAME: out [#dist.sharding<@mesh, [{?}, {?}], partial=sum{"dp"}>, #dist.sharding<@mesh, [{"dp"}]>] {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<4x16xf32>):
  %0:2 = dist.manual_computation over {"dp"} (%x : tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8xf32>)
      in [#dist.sharding<@mesh, [{"dp", ?}, {?}]>]
      out [#dist.sharding<@mesh, [{?}, {?}], partial=sum{"dp"}>, #dist.sharding<@mesh, [{"dp"}]>] {
  ^bb0(%p: tensor<4x16xf32>):
    %c = graph.concat %p, %p dim = 0 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %s = graph.reduce sum %p dims = [1] : (tensor<4x16xf32>) -> tensor<4xf32>
    // CHECK: dist.manual_yield %{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<4xf32>
    dist.manual_yield %c, %s : tensor<8x16xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8xf32>
}
