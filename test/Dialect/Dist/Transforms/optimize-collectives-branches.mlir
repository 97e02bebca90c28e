// What takes the place of two collectives in different blocks stands where the first did: in a branch that a loop runs it would communicate in each
// iteration.
// RUN: llm-opt %s --dist-optimize-collectives | FileCheck %s

dist.mesh @mesh = <["x"=2, "y"=2]>
!p = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}, global=[8, 16]>>
!pxy = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x", "y"}, global=[8, 16]>>
!py = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"y"}, global=[8, 16]>>
!w = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 16]>>
!x = tensor<4x16xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[8, 16]>>
!c = tensor<i1, #dist.sharding<@mesh, [], global=[]>>
!i = tensor<i32, #dist.sharding<@mesh, [], global=[]>>

// CHECK-LABEL: func.func @scatter
// CHECK: dist.reduce_scatter %arg0 dim = 0 axes = {"x"}
// CHECK: graph.repeat
// CHECK-NOT: = dist.
// CHECK: return
func.func @scatter(%a: !p, %b: !x, %c: !c) -> !x {
  %0 = dist.all_reduce %a axes = {"x"} : !p -> !w
  %1 = graph.repeat 3 carry(%b : !x) -> (!x) {
  ^bb0(%i: !i, %h: !x):
    %2 = graph.if %c : !c -> (!x) {
      %3 = dist.all_slice %0 dim = 0 axes = {"x"} : !w -> !x
      %4 = graph.add %3, %h : (!x, !x) -> !x
      graph.branch_yield %4 : !x
    } else {
      graph.branch_yield %h : !x
    }
    graph.yield %2 : !x
  }
  return %1 : !x
}

// CHECK-LABEL: func.func @reduce
// CHECK: dist.all_reduce %arg0 axes = {"x", "y"}
// CHECK: graph.repeat
// CHECK-NOT: = dist.
// CHECK: return
func.func @reduce(%a: !pxy, %b: !w, %c: !c) -> !w {
  %0 = dist.all_reduce %a axes = {"x"} : !pxy -> !py
  %1 = graph.repeat 3 carry(%b : !w) -> (!w) {
  ^bb0(%i: !i, %h: !w):
    %2 = graph.if %c : !c -> (!w) {
      %3 = dist.all_reduce %0 axes = {"y"} : !py -> !w
      %4 = graph.add %3, %h : (!w, !w) -> !w
      graph.branch_yield %4 : !w
    } else {
      graph.branch_yield %h : !w
    }
    graph.yield %2 : !w
  }
  return %1 : !w
}

// Two sums that a branch adds up are made before the loop, once each: added up first they would be one, in each iteration.
// CHECK-LABEL: func.func @add
// CHECK-COUNT-2: dist.all_reduce %arg{{[01]}} axes = {"x"}
// CHECK: graph.repeat
// CHECK-NOT: = dist.
// CHECK: return
func.func @add(%a: !p, %a2: !p, %b: !w, %c: !c) -> !w {
  %0 = dist.all_reduce %a axes = {"x"} : !p -> !w
  %s = dist.all_reduce %a2 axes = {"x"} : !p -> !w
  %1 = graph.repeat 3 carry(%b : !w) -> (!w) {
  ^bb0(%i: !i, %h: !w):
    %2 = graph.if %c : !c -> (!w) {
      %3 = graph.add %0, %s : (!w, !w) -> !w
      graph.branch_yield %3 : !w
    } else {
      graph.branch_yield %h : !w
    }
    graph.yield %2 : !w
  }
  return %1 : !w
}
