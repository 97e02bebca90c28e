// RUN: llm-opt %s --dist-optimize-collectives | FileCheck %s

dist.mesh @mesh = <["x"=2, "y"=4, "z"=6]>
!p = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[8, 16]>>
!w = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 16]>>
!x = tensor<4x16xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[8, 16]>>
!y = tensor<2x16xf32, #dist.sharding<@mesh, [{"y"}, {}], global=[8, 16]>>

// CHECK-LABEL: func.func @reduce_scatter
func.func @reduce_scatter(%a: !p) -> !x {
  // CHECK-NEXT: dist.reduce_scatter %arg0 dim = 0 axes = {"x"} {why = "sum"}
  // CHECK-NEXT: return
  %0 = dist.all_reduce %a axes = {"x"} {why = "sum"} : !p -> !w
  %1 = dist.all_slice %0 dim = 0 axes = {"x"} : !w -> !x
  return %1 : !x
}

!pxy = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x", "y"}, global=[8, 16]>>
!xy = tensor<1x16xf32, #dist.sharding<@mesh, [{"x", "y"}, {}], global=[8, 16]>>
!yx = tensor<1x16xf32, #dist.sharding<@mesh, [{"y", "x"}, {}], global=[8, 16]>>

// What is sliced by some of the axes is scattered over them, and summed over the others after that, when it is less.
// CHECK-LABEL: func.func @some_axes_scattered
func.func @some_axes_scattered(%a: !pxy) -> !y {
  // CHECK-NEXT: %[[S:.*]] = dist.reduce_scatter %arg0 dim = 0 axes = {"y"} {why = "sum"} {{.*}} -> tensor<2x16xf32, {{.*}}[{"y"}, {}], partial=sum{"x"}
  // CHECK-NEXT: dist.all_reduce %[[S]] axes = {"x"} {why = "sum"}
  // CHECK-NEXT: return
  %0 = dist.all_reduce %a axes = {"x", "y"} {why = "sum"} : !pxy -> !w
  %1 = dist.all_slice %0 dim = 0 axes = {"y"} : !w -> !y
  return %1 : !y
}

// CHECK-LABEL: func.func @scattered_then_sliced
func.func @scattered_then_sliced(%a: !p) -> !xy {
  // CHECK-NEXT: %[[S:.*]] = dist.reduce_scatter %arg0 dim = 0 axes = {"x"}
  // CHECK-NEXT: dist.all_slice %[[S]] dim = 0 axes = {"y"}
  // CHECK-NEXT: return
  %0 = dist.all_reduce %a axes = {"x"} : !p -> !w
  %1 = dist.all_slice %0 dim = 0 axes = {"x", "y"} : !w -> !xy
  return %1 : !xy
}

// The sum's axis comes after another one: terms are sliced by that before they travel.
// CHECK-LABEL: func.func @no_prefix
func.func @no_prefix(%a: !p) -> !yx {
  // CHECK-NEXT: %[[S:.*]] = dist.all_slice %arg0 dim = 0 axes = {"y"}
  // CHECK-NEXT: dist.reduce_scatter %[[S]] dim = 0 axes = {"x"}
  // CHECK-NEXT: return
  %0 = dist.all_reduce %a axes = {"x"} : !p -> !w
  %1 = dist.all_slice %0 dim = 0 axes = {"y", "x"} : !w -> !yx
  return %1 : !yx
}

!uw = tensor<6x16xf32, #dist.sharding<@mesh, [{}, {}], global=[6, 16]>>
!pz = tensor<6x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"z":(3)2}, global=[6, 16]>>
!z = tensor<2x16xf32, #dist.sharding<@mesh, [{"z":(2)3}, {}], global=[6, 16]>>

// Cut another way, the axis that is sliced by is none that is summed over.
// CHECK-LABEL: func.func @other_cut
func.func @other_cut(%a: !pz) -> !z {
  // CHECK-NOT: reduce_scatter
  // CHECK: return
  %0 = dist.all_reduce %a axes = {"z":(3)2} : !pz -> !uw
  %1 = dist.all_slice %0 dim = 0 axes = {"z":(2)3} : !uw -> !z
  return %1 : !z
}

!up = tensor<6x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[6, 16]>>
!uxy = tensor<1x16xf32, #dist.sharding<@mesh, [{"x", "y"}, {}], global=[6, 16]>>

// Three rows over four are one each, six over eight too: pieces of pieces are no pieces of the whole.
// CHECK-LABEL: func.func @uneven_pieces
func.func @uneven_pieces(%a: !up) -> !uxy {
  // CHECK-NOT: reduce_scatter
  // CHECK: return
  %0 = dist.all_reduce %a axes = {"x"} : !up -> !uw
  %1 = dist.all_slice %0 dim = 0 axes = {"x", "y"} : !uw -> !uxy
  return %1 : !uxy
}

// Another user needs the whole sum; other axes would leave it unsummed.
// CHECK-LABEL: func.func @whole_sum_needed
func.func @whole_sum_needed(%a: !p) -> (!x, !w, !y) {
  // CHECK-NOT: reduce_scatter
  %0 = dist.all_reduce %a axes = {"x"} : !p -> !w
  %1 = dist.all_slice %0 dim = 0 axes = {"x"} : !w -> !x
  %2 = dist.all_slice %0 dim = 0 axes = {"y"} : !w -> !y
  return %1, %0, %2 : !x, !w, !y
}

// CHECK-LABEL: func.func @there_and_back
func.func @there_and_back(%a: !x, %b: !w) -> (!x, !w) {
  // CHECK-NEXT: return %arg0, %arg1
  %0 = dist.all_gather %a dim = 0 axes = {"x"} : !x -> !w
  %1 = dist.all_slice %0 dim = 0 axes = {"x"} : !w -> !x
  %2 = dist.all_slice %b dim = 0 axes = {"x"} : !w -> !x
  %3 = dist.all_gather %2 dim = 0 axes = {"x"} : !x -> !w
  return %1, %3 : !x, !w
}

// The greatest of sums is no sum of the greatest: maxima are not added before they are reduced.
!m = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"x"}, global=[8, 16]>>
// CHECK-LABEL: func.func @maxima_that_are_added
func.func @maxima_that_are_added(%a: !m, %b: !m) -> !w {
  // CHECK-NEXT: %[[A:.*]] = dist.all_reduce %arg0
  // CHECK-NEXT: %[[B:.*]] = dist.all_reduce %arg1
  // CHECK-NEXT: graph.add %[[A]], %[[B]]
  %0 = dist.all_reduce %a axes = {"x"} : !m -> !w
  %1 = dist.all_reduce %b axes = {"x"} : !m -> !w
  %2 = graph.add %0, %1 : (!w, !w) -> !w
  return %2 : !w
}

// CHECK-LABEL: func.func @twice
func.func @twice(%a: !x) -> (!w, !w) {
  // CHECK: %[[G:.*]] = dist.all_gather
  // CHECK-NEXT: return %[[G]], %[[G]]
  %0 = dist.all_gather %a dim = 0 axes = {"x"} : !x -> !w
  %1 = dist.all_gather %a dim = 0 axes = {"x"} : !x -> !w
  return %0, %1 : !w, !w
}

// What a loop gathers of an activation is the same in every iteration; a gathered weight would be held all the time.
// CHECK-LABEL: func.func @loop
func.func @loop(%a: !x, %w: !x {graph.kind = #graph.kind<parameter>}, %h: !w) -> !w {
  // CHECK: dist.all_gather %arg0
  // CHECK: graph.repeat
  %r = graph.repeat 3 carry(%h : !w) -> (!w) {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %c: !w):
    // CHECK-NOT: dist.all_gather %arg0
    // CHECK: dist.all_gather %arg1
    %0 = dist.all_gather %a dim = 0 axes = {"x"} : !x -> !w
    %1 = dist.all_gather %w dim = 0 axes = {"x"} : !x -> !w
    %2 = graph.add %c, %0 : (!w, !w) -> !w
    %3 = graph.mul %2, %1 : (!w, !w) -> !w
    graph.yield %3 : !w
  }
  return %r : !w
}

!k = tensor<8x8xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[8, 16]>>
!ps = tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[8, 8]>>
!s = tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 8]>>
!sx = tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[8, 8]>>
!view = tensor<4x2x4xf32, #dist.sharding<@mesh, [{"x"}, {}, {}], global=[8, 2, 4]>>
!viewed = tensor<8x1x4xf32, #dist.sharding<@mesh, [{}, {"x"}, {}], global=[8, 2, 4]>>
!sk = tensor<8x4xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[8, 8]>>

// A sum of what comes from outside leaves the loop with its product; a reshard of a value from outside with the views between its steps. What is
// made of a carried value stays, whatever else it reads.
// CHECK-LABEL: func.func @loop_invariant
func.func @loop_invariant(%a: !k, %b: !k, %c: !sx, %h: !s) -> !s {
  // CHECK: graph.linear %arg0, %arg1
  // CHECK-NEXT: dist.all_reduce
  // CHECK: graph.reshape %arg2
  // CHECK-NEXT: dist.all_to_all
  // CHECK-NEXT: graph.reshape
  // CHECK-NEXT: dist.all_gather
  // CHECK: graph.repeat
  // CHECK: dist.all_slice %arg{{[0-9]+}}
  // CHECK: dist.all_gather
  // CHECK-NOT: = dist.
  // CHECK: graph.yield
  %r = graph.repeat 3 carry(%h : !s) -> (!s) {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %carried: !s):
    %0 = graph.linear %a, %b contract = 1 : (!k, !k) -> !ps
    %1 = dist.all_reduce %0 axes = {"x"} : !ps -> !s
    %2 = graph.reshape %c : (!sx) -> !view
    %3 = dist.all_to_all %2 from = 0 to = 1 axes = {"x"} : !view -> !viewed
    %4 = graph.reshape %3 : (!viewed) -> !sk
    %5 = dist.all_gather %4 dim = 1 axes = {"x"} : !sk -> !s
    %6 = dist.all_slice %carried dim = 0 axes = {"x"} : !s -> !sx
    %7 = graph.mul %6, %c : (!sx, !sx) -> !sx
    %8 = dist.all_gather %7 dim = 0 axes = {"x"} : !sx -> !s
    %9 = graph.add %8, %1 : (!s, !s) -> !s
    %10 = graph.add %9, %5 : (!s, !s) -> !s
    graph.yield %10 : !s
  }
  return %r : !s
}

// Zeros that begin a sum over ranks are zeros on each of them: nobody sends any, whatever shape they are wanted in.
// CHECK-LABEL: func.func @neutral
// CHECK-NEXT: %[[WHOLE:.*]] = graph.constant dense<0.000000e+00> : tensor<8xf32> : tensor<8xf32, #dist.sharding<@mesh, [{}], partial=sum{"x"}, global=[8]>>
// CHECK-NEXT: return %[[WHOLE]]
func.func @neutral() -> tensor<8xf32, #dist.sharding<@mesh, [{}], partial=sum{"x"}, global=[8]>> {
  %0 = graph.constant dense<0.000000e+00> : tensor<8xf32> : tensor<4xf32, #dist.sharding<@mesh, [{"x"}], global=[8]>>
  %1 = dist.all_gather %0 dim = 0 axes = {"x"} : tensor<4xf32, #dist.sharding<@mesh, [{"x"}], global=[8]>> -> tensor<8xf32, #dist.sharding<@mesh, [{}], global=[8]>>
  %2 = dist.contribute %1 axes = {"x"} : tensor<8xf32, #dist.sharding<@mesh, [{}], global=[8]>> -> tensor<8xf32, #dist.sharding<@mesh, [{}], partial=sum{"x"}, global=[8]>>
  return %2 : tensor<8xf32, #dist.sharding<@mesh, [{}], partial=sum{"x"}, global=[8]>>
}
