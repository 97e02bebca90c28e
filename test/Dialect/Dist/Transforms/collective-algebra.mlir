// The collective algebra of the facts page, by id. Numbers: test/Semantics/collective-algebra.test runs this file too.
// RUN: llm-opt %s --dist-optimize-collectives | FileCheck %s

dist.mesh @mesh = <["x"=2, "y"=2, "z"=2, "p"=2]>
!whole = tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 8]>>
!x = tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[8, 8]>>
!xy = tensor<2x8xf32, #dist.sharding<@mesh, [{"x", "y"}, {}], global=[8, 8]>>
!yx = tensor<2x8xf32, #dist.sharding<@mesh, [{"y", "x"}, {}], global=[8, 8]>>
!y = tensor<4x8xf32, #dist.sharding<@mesh, [{"y"}, {}], global=[8, 8]>>
!xz = tensor<2x8xf32, #dist.sharding<@mesh, [{"x", "z"}, {}], global=[8, 8]>>
!yp = tensor<8x2xf32, #dist.sharding<@mesh, [{}, {"y", "p"}], global=[8, 8]>>
!ky = tensor<8x4xf32, #dist.sharding<@mesh, [{}, {"y"}], global=[8, 8]>>
!xz_y = tensor<2x4xf32, #dist.sharding<@mesh, [{"x", "z"}, {"y"}], global=[8, 8]>>
!xz_yp = tensor<2x2xf32, #dist.sharding<@mesh, [{"x", "z"}, {"y", "p"}], global=[8, 8]>>
!kx = tensor<8x4xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[8, 8]>>
!kxy = tensor<8x2xf32, #dist.sharding<@mesh, [{}, {"x", "y"}], global=[8, 8]>>
!px = tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[8, 8]>>
!py = tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}, global=[8, 8]>>
!pxy = tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x", "y"}, global=[8, 8]>>

// K1: a sum over {x, y}, sliced by the same axes in whatever order they are named, is scattered.
// CHECK-LABEL: func.func @K1
func.func @K1(%a: !kxy, %w: !kxy) -> !xy {
  // CHECK: %[[P:.*]] = graph.linear
  // CHECK-NEXT: %[[R:.*]] = dist.reduce_scatter %[[P]] dim = 0 axes = {"x", "y"}
  // CHECK-NEXT: return %[[R]]
  %0 = graph.linear %a, %w contract = 1 : (!kxy, !kxy) -> !pxy
  %1 = dist.all_reduce %0 axes = {"x", "y"} : !pxy -> !whole
  %2 = dist.all_slice %1 dim = 0 axes = {"x", "y"} : !whole -> !xy
  return %2 : !xy
}

// K2: sliced by more axes, the sum's first: scattered, then sliced. By some of the sum's axes: scattered over them, then the smaller piece is summed
// over the others.
// CHECK-LABEL: func.func @K2
func.func @K2(%a: !kx, %w: !kx, %b: !kxy, %v: !kxy) -> (!xy, !x) {
  // CHECK: %[[P:.*]] = graph.linear %arg0, %arg1
  // CHECK-NEXT: %[[R:.*]] = dist.reduce_scatter %[[P]] dim = 0 axes = {"x"}
  // CHECK-NEXT: %[[S:.*]] = dist.all_slice %[[R]] dim = 0 axes = {"y"}
  // CHECK: %[[Q:.*]] = graph.linear %arg2, %arg3
  // CHECK-NEXT: %[[T:.*]] = dist.reduce_scatter %[[Q]] dim = 0 axes = {"x"}
  // CHECK-NEXT: %[[U:.*]] = dist.all_reduce %[[T]] axes = {"y"}
  // CHECK-NEXT: return %[[S]], %[[U]]
  %0 = graph.linear %a, %w contract = 1 : (!kx, !kx) -> !px
  %1 = dist.all_reduce %0 axes = {"x"} : !px -> !whole
  %2 = dist.all_slice %1 dim = 0 axes = {"x", "y"} : !whole -> !xy
  %3 = graph.linear %b, %v contract = 1 : (!kxy, !kxy) -> !pxy
  %4 = dist.all_reduce %3 axes = {"x", "y"} : !pxy -> !whole
  %5 = dist.all_slice %4 dim = 0 axes = {"x"} : !whole -> !x
  return %2, %5 : !xy, !x
}

// K3: not where somebody else reads the sum.
// CHECK-LABEL: func.func @K3
func.func @K3(%a: !kx, %w: !kx) -> (!whole, !x) {
  // CHECK-NOT: dist.reduce_scatter
  // CHECK: dist.all_reduce
  // CHECK: dist.all_slice
  // CHECK-NOT: dist.reduce_scatter
  %0 = graph.linear %a, %w contract = 1 : (!kx, !kx) -> !px
  %1 = dist.all_reduce %0 axes = {"x"} : !px -> !whole
  %2 = dist.all_slice %1 dim = 0 axes = {"x"} : !whole -> !x
  return %1, %2 : !whole, !x
}

// Sliced by another axis first: terms are sliced before they travel, then scattered; by another one alone: half as much is summed.
// CHECK-LABEL: func.func @another_axis_first
func.func @another_axis_first(%a: !kx, %w: !kx, %b: !kx, %v: !kx) -> (!yx, !y) {
  // CHECK: %[[P:.*]] = graph.linear %arg0, %arg1
  // CHECK-NEXT: %[[S:.*]] = dist.all_slice %[[P]] dim = 0 axes = {"y"}
  // CHECK-NEXT: %[[R:.*]] = dist.reduce_scatter %[[S]] dim = 0 axes = {"x"}
  // CHECK: %[[Q:.*]] = graph.linear %arg2, %arg3
  // CHECK-NEXT: %[[T:.*]] = dist.all_slice %[[Q]] dim = 0 axes = {"y"}
  // CHECK-NEXT: %[[U:.*]] = dist.all_reduce %[[T]] axes = {"x"}
  // CHECK-NEXT: return %[[R]], %[[U]]
  %0 = graph.linear %a, %w contract = 1 : (!kx, !kx) -> !px
  %1 = dist.all_reduce %0 axes = {"x"} : !px -> !whole
  %2 = dist.all_slice %1 dim = 0 axes = {"y", "x"} : !whole -> !yx
  %3 = graph.linear %b, %v contract = 1 : (!kx, !kx) -> !px
  %4 = dist.all_reduce %3 axes = {"x"} : !px -> !whole
  %5 = dist.all_slice %4 dim = 0 axes = {"y"} : !whole -> !y
  return %2, %5 : !yx, !y
}

// A sum over {x, y}, each dimension sliced by one of them and one more: scattered twice, in whatever order they are sliced.
// CHECK-LABEL: func.func @S8
func.func @S8(%a: !kxy, %w: !kxy, %b: !kxy, %v: !kxy) -> (!xz_yp, !xz_yp) {
  // CHECK: dist.reduce_scatter %{{.*}} dim = 0 axes = {"x"}
  // CHECK-NEXT: dist.all_slice %{{.*}} dim = 0 axes = {"z"}
  // CHECK-NEXT: dist.reduce_scatter %{{.*}} dim = 1 axes = {"y"}
  // CHECK-NEXT: dist.all_slice %{{.*}} dim = 1 axes = {"p"}
  // CHECK: dist.reduce_scatter %{{.*}} dim = 1 axes = {"y"}
  // CHECK-NEXT: dist.all_slice %{{.*}} dim = 1 axes = {"p"}
  // CHECK-NEXT: dist.reduce_scatter %{{.*}} dim = 0 axes = {"x"}
  // CHECK-NEXT: dist.all_slice %{{.*}} dim = 0 axes = {"z"}
  // CHECK-NOT: dist.all_reduce
  %0 = graph.linear %a, %w contract = 1 : (!kxy, !kxy) -> !pxy
  %1 = dist.all_reduce %0 axes = {"x", "y"} : !pxy -> !whole
  %2 = dist.all_slice %1 dim = 0 axes = {"x", "z"} : !whole -> !xz
  %3 = dist.all_slice %2 dim = 1 axes = {"y", "p"} : !xz -> !xz_yp
  %4 = graph.linear %b, %v contract = 1 : (!kxy, !kxy) -> !pxy
  %5 = dist.all_reduce %4 axes = {"x", "y"} : !pxy -> !whole
  %6 = dist.all_slice %5 dim = 1 axes = {"y", "p"} : !whole -> !yp
  %7 = dist.all_slice %6 dim = 0 axes = {"x", "z"} : !yp -> !xz_yp
  return %3, %7 : !xz_yp, !xz_yp
}

// Nor does it matter whether another dimension is sliced before or after the one that is scattered: terms are sliced before they travel.
// CHECK-LABEL: func.func @another_dimension_last
func.func @another_dimension_last(%a: !kx, %w: !kx) -> !xz_yp {
  // CHECK: %[[P:.*]] = graph.linear
  // CHECK-NEXT: %[[Y:.*]] = dist.all_slice %[[P]] dim = 1 axes = {"y", "p"}
  // CHECK-NEXT: %[[X:.*]] = dist.reduce_scatter %[[Y]] dim = 0 axes = {"x"}
  // CHECK-NEXT: dist.all_slice %[[X]] dim = 0 axes = {"z"}
  // CHECK-NOT: dist.all_slice
  %0 = graph.linear %a, %w contract = 1 : (!kx, !kx) -> !px
  %1 = dist.all_reduce %0 axes = {"x"} : !px -> !whole
  %2 = dist.all_slice %1 dim = 0 axes = {"x", "z"} : !whole -> !xz
  %3 = dist.all_slice %2 dim = 1 axes = {"y", "p"} : !xz -> !xz_yp
  return %3 : !xz_yp
}

// With what was scattered of its own dimension a slice comes before what was scattered of another.
// CHECK-LABEL: func.func @own_dimension_first
func.func @own_dimension_first(%a: !kxy, %w: !kxy) -> !xz_y {
  // CHECK: %[[X:.*]] = dist.reduce_scatter %{{.*}} dim = 0 axes = {"x"}
  // CHECK-NEXT: %[[Z:.*]] = dist.all_slice %[[X]] dim = 0 axes = {"z"}
  // CHECK-NEXT: dist.reduce_scatter %[[Z]] dim = 1 axes = {"y"}
  %0 = graph.linear %a, %w contract = 1 : (!kxy, !kxy) -> !pxy
  %1 = dist.all_reduce %0 axes = {"x", "y"} : !pxy -> !whole
  %2 = dist.all_slice %1 dim = 1 axes = {"y"} : !whole -> !ky
  %3 = dist.all_slice %2 dim = 0 axes = {"x", "z"} : !ky -> !xz_y
  return %3 : !xz_y
}

// K4: a slice after the gather that it undoes is nothing, two gathers (or slices) of one dimension are one.
// CHECK-LABEL: func.func @K4
func.func @K4(%a: !xy, %b: !whole) -> (!xy, !whole, !xy) {
  // CHECK-NEXT: %[[G:.*]] = dist.all_gather %arg0 dim = 0 axes = {"x", "y"}
  // CHECK-NEXT: %[[S:.*]] = dist.all_slice %arg1 dim = 0 axes = {"x", "y"}
  // CHECK-NEXT: return %arg0, %[[G]], %[[S]]
  %0 = dist.all_gather %a dim = 0 axes = {"y"} : !xy -> !x
  %1 = dist.all_slice %0 dim = 0 axes = {"y"} : !x -> !xy
  %2 = dist.all_gather %a dim = 0 axes = {"y"} : !xy -> !x
  %3 = dist.all_gather %2 dim = 0 axes = {"x"} : !x -> !whole
  %4 = dist.all_slice %b dim = 0 axes = {"x"} : !whole -> !x
  %5 = dist.all_slice %4 dim = 0 axes = {"y"} : !x -> !xy
  return %1, %3, %5 : !xy, !whole, !xy
}

!d0 = tensor<2x4x4x4xf32, #dist.sharding<@mesh, [{"x"}, {"y"}, {}, {}], global=[4, 8, 4, 4]>>
!d1 = tensor<4x4x2x4xf32, #dist.sharding<@mesh, [{}, {"y"}, {"x"}, {}], global=[4, 8, 4, 4]>>
!d2 = tensor<4x8x2x2xf32, #dist.sharding<@mesh, [{}, {}, {"x"}, {"y"}], global=[4, 8, 4, 4]>>
!d3 = tensor<4x8x1x4xf32, #dist.sharding<@mesh, [{}, {}, {"x", "y"}, {}], global=[4, 8, 4, 4]>>

// K5: exchanges between two pairs of dimensions are one; not where they share a dimension.
// CHECK-LABEL: func.func @K5
func.func @K5(%a: !d0, %b: !d0) -> (!d2, !d3) {
  // CHECK-NEXT: dist.all_to_all %arg0 from = 0 to = 2 axes = {"x"}, from = 1 to = 3 axes = {"y"}
  // CHECK-NEXT: dist.all_to_all %arg1 from = 0 to = 2 axes = {"x"} :
  // CHECK-NEXT: dist.all_to_all %{{.*}} from = 1 to = 2 axes = {"y"} :
  %0 = dist.all_to_all %a from = 0 to = 2 axes = {"x"} : !d0 -> !d1
  %1 = dist.all_to_all %0 from = 1 to = 3 axes = {"y"} : !d1 -> !d2
  %2 = dist.all_to_all %b from = 0 to = 2 axes = {"x"} : !d0 -> !d1
  %3 = dist.all_to_all %2 from = 1 to = 2 axes = {"y"} : !d1 -> !d3
  return %1, %3 : !d2, !d3
}

// Sums over x, then over y: over both at once; not if the first sum is read by others.
// CHECK-LABEL: func.func @two_axes_of_one_sum
func.func @two_axes_of_one_sum(%a: !kxy, %w: !kxy) -> (!whole, !whole, !py) {
  // CHECK: dist.all_reduce %{{.*}} axes = {"x", "y"} {why = "a; b"}
  // CHECK: dist.all_reduce %{{.*}} axes = {"x"} :
  // CHECK: dist.all_reduce %{{.*}} axes = {"y"} :
  %0 = graph.linear %a, %w contract = 1 : (!kxy, !kxy) -> !pxy
  %1 = dist.all_reduce %0 axes = {"x"} {why = "a"} : !pxy -> !py
  %2 = dist.all_reduce %1 axes = {"y"} {why = "b"} : !py -> !whole
  %3 = graph.linear %w, %a contract = 1 : (!kxy, !kxy) -> !pxy
  %4 = dist.all_reduce %3 axes = {"x"} : !pxy -> !py
  %5 = dist.all_reduce %4 axes = {"y"} : !py -> !whole
  return %2, %5, %4 : !whole, !whole, !py
}

// Two sums over x are added up: added first, one all_reduce. Not where they are multiplied, where one is read elsewhere, or where the axes
// differ.
// CHECK-LABEL: func.func @sums_that_are_added
func.func @sums_that_are_added(%a: !kx, %b: !kx, %w: !kx) -> (!whole, !whole, !whole, !whole) {
  // CHECK: %[[S:.*]] = graph.add %{{.*}}, %{{.*}} : {{.*}} -> tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}
  // CHECK-NEXT: dist.all_reduce %[[S]] axes = {"x"} {why = "a; b"}
  // CHECK-COUNT-4: = dist.all_reduce
  // CHECK-NOT: = dist.
  // CHECK: return
  %0 = graph.linear %a, %w contract = 1 : (!kx, !kx) -> !px
  %1 = graph.linear %b, %w contract = 1 : (!kx, !kx) -> !px
  %2 = dist.all_reduce %0 axes = {"x"} {why = "a"} : !px -> !whole
  %3 = dist.all_reduce %1 axes = {"x"} {why = "b"} : !px -> !whole
  %4 = graph.add %2, %3 : (!whole, !whole) -> !whole
  %5 = graph.linear %a, %a contract = 1 : (!kx, !kx) -> !px
  %6 = graph.linear %b, %b contract = 1 : (!kx, !kx) -> !px
  %7 = dist.all_reduce %5 axes = {"x"} : !px -> !whole
  %8 = dist.all_reduce %6 axes = {"x"} : !px -> !whole
  %9 = graph.mul %7, %8 : (!whole, !whole) -> !whole
  %10 = graph.linear %w, %a contract = 1 : (!kx, !kx) -> !px
  %11 = graph.linear %w, %b contract = 1 : (!kx, !kx) -> !px
  %12 = dist.all_reduce %10 axes = {"x"} : !px -> !whole
  %13 = dist.all_reduce %11 axes = {"x"} : !px -> !whole
  %14 = graph.add %12, %13 : (!whole, !whole) -> !whole
  return %4, %9, %12, %14 : !whole, !whole, !whole, !whole
}
