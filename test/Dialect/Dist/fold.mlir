// RUN: llm-opt %s --canonicalize | FileCheck %s

dist.mesh @mesh = <["x"=2, "y"=4]>
!p = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
!w = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}]>>
!x = tensor<8x16xf32, #dist.sharding<@mesh, [{"x"}, {}]>>

// CHECK-LABEL: func.func @same
func.func @same(%a: !x) -> !x {
  // CHECK-NOT: dist.reshard
  %0 = dist.reshard %a : !x -> !x
  return %0 : !x
}

// Reduce, then slice: one reshard, which partition can make a reduce_scatter.
// CHECK-LABEL: func.func @two_in_a_row
func.func @two_in_a_row(%a: !p) -> !x {
  // CHECK: %[[R:.*]] = dist.reshard %arg0 : {{.*}}partial=sum{"x"}>> -> {{.*}}[{"x"}, {}]>>
  // CHECK-NEXT: return %[[R]]
  %0 = dist.reshard %a : !p -> !w
  %1 = dist.reshard %0 : !w -> !x
  return %1 : !x
}

// CHECK-LABEL: func.func @there_and_back
func.func @there_and_back(%a: !x) -> !x {
  // CHECK-NEXT: return %arg0
  %0 = dist.reshard %a : !x -> !w
  %1 = dist.reshard %0 : !w -> !x
  return %1 : !x
}

// Somebody else needs the sum: reducing twice would cost more.
// CHECK-LABEL: func.func @another_user
func.func @another_user(%a: !p) -> (!x, !w) {
  // CHECK: %[[W:.*]] = dist.reshard %arg0
  // CHECK: dist.reshard %[[W]]
  %0 = dist.reshard %a : !p -> !w
  %1 = dist.reshard %0 : !w -> !x
  return %1, %0 : !x, !w
}
