// Rows of shared/facts/reshard_placement.md about sums that stay open: which collectives, and the same numbers on all ranks.
// RUN: llm-opt %s --dist-partition --dist-optimize-collectives | FileCheck %s
// RUN: llm-judge %s --pipeline="dist-partition,dist-optimize-collectives" --entry=E22
// RUN: llm-judge %s --pipeline="dist-partition,dist-optimize-collectives" --entry=E24
// RUN: llm-judge %s --pipeline="dist-partition,dist-optimize-collectives" --entry=E25
// RUN: llm-judge %s --pipeline="dist-partition,dist-optimize-collectives" --entry=E26
// RUN: llm-judge %s --pipeline="dist-partition,dist-optimize-collectives" --entry=contributions

dist.mesh @mesh = <["b"=2, "c"=2]>

!lhs = tensor<8x36xf32, #dist.sharding<@mesh, [{}, {"b", "c"}]>>
!rhs = tensor<16x36xf32, #dist.sharding<@mesh, [{}, {"b", "c"}]>>
!whole = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}]>>
!both = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"b", "c"}>>
!one = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"c"}>>
!most = tensor<8x16xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"b"}>>

// A sum that is added to itself stays open until the caller wants it.
// CHECK-LABEL: func.func @E22
// CHECK: graph.reduce sum
// CHECK-NEXT: graph.add {{.*}} -> tensor<8xf32, {{.*}}partial=sum{"b"}
// CHECK-NEXT: dist.all_reduce {{.*}} axes = {"b"}
// CHECK-NEXT: return
func.func @E22(%x: tensor<8x16xf32, #dist.sharding<@mesh, [{}, {"b"}]>>) -> tensor<8xf32, #dist.sharding<@mesh, [{}]>> {
  %0 = graph.reduce sum %x dims = [1] : (tensor<8x16xf32, #dist.sharding<@mesh, [{}, {"b"}]>>) -> tensor<8xf32, #dist.sharding<@mesh, [{}], partial=sum{"b"}>>
  %1 = graph.add %0, %0 : (tensor<8xf32, #dist.sharding<@mesh, [{}], partial=sum{"b"}>>, tensor<8xf32, #dist.sharding<@mesh, [{}], partial=sum{"b"}>>) -> tensor<8xf32, #dist.sharding<@mesh, [{}], partial=sum{"b"}>>
  %2 = dist.reshard %1 : tensor<8xf32, #dist.sharding<@mesh, [{}], partial=sum{"b"}>> -> tensor<8xf32, #dist.sharding<@mesh, [{}]>>
  return %2 : tensor<8xf32, #dist.sharding<@mesh, [{}]>>
}

// A part of the sum closes first.
// CHECK-LABEL: func.func @E24
// CHECK: graph.linear {{.*}}partial=sum{"b", "c"}
// CHECK-NEXT: dist.all_reduce {{.*}} axes = {"b"}
// CHECK-NEXT: graph.add {{.*}} -> tensor<8x16xf32, {{.*}}partial=sum{"c"}
// CHECK-NEXT: dist.all_reduce {{.*}} axes = {"c"}
// CHECK-NEXT: return
func.func @E24(%l: !lhs, %r: !rhs) -> !whole {
  %0 = graph.linear %l, %r contract = 1 : (!lhs, !rhs) -> !both
  %1 = dist.reshard %0 : !both -> !one
  %2 = graph.add %1, %1 : (!one, !one) -> !one
  %3 = dist.reshard %2 : !one -> !whole
  return %3 : !whole
}

// A product with a whole value is linear in the open sum; of two open sums one closes first.
// CHECK-LABEL: func.func @E25
// CHECK: graph.mul {{.*}} -> tensor<8x16xf32, {{.*}}partial=sum{"b", "c"}
// CHECK-NEXT: dist.all_reduce {{.*}} axes = {"b", "c"}
// CHECK-NEXT: graph.mul {{.*}} -> tensor<8x16xf32, {{.*}}partial=sum{"b", "c"}
// CHECK-NEXT: dist.all_reduce {{.*}} axes = {"b", "c"}
// CHECK-NEXT: return
func.func @E25(%l: !lhs, %r: !rhs, %w: !whole) -> !whole {
  %0 = graph.linear %l, %r contract = 1 : (!lhs, !rhs) -> !both
  %1 = graph.mul %0, %w : (!both, !whole) -> !both
  %2 = dist.reshard %0 : !both -> !whole
  %3 = graph.mul %1, %2 : (!both, !whole) -> !both
  %4 = dist.reshard %3 : !both -> !whole
  return %4 : !whole
}

// A partial maximum that is wanted in pieces.
// CHECK-LABEL: func.func @E26
// CHECK: graph.reduce max {{.*}}partial=max{"b"}
// CHECK-NEXT: dist.reduce_scatter %{{.*}} dim = 0 axes = {"b"} {{.*}}partial=max{"b"}
// CHECK-NEXT: return
func.func @E26(%x: tensor<8x16xf32, #dist.sharding<@mesh, [{}, {"b"}]>>) -> tensor<8xf32, #dist.sharding<@mesh, [{"b"}]>> {
  %0 = graph.reduce max %x dims = [1] : (tensor<8x16xf32, #dist.sharding<@mesh, [{}, {"b"}]>>) -> tensor<8xf32, #dist.sharding<@mesh, [{}], partial=max{"b"}>>
  %1 = dist.reshard %0 : tensor<8xf32, #dist.sharding<@mesh, [{}], partial=max{"b"}>> -> tensor<8xf32, #dist.sharding<@mesh, [{"b"}]>>
  return %1 : tensor<8xf32, #dist.sharding<@mesh, [{"b"}]>>
}

// A whole value joins a sum, a sum joins one over more axes, a sum becomes a maximum by closing first; zeros are partial as they are.
// CHECK-LABEL: func.func @contributions
// CHECK-DAG: graph.constant dense<0.000000e+00> {{.*}}partial=sum{"c"}
// CHECK-DAG: dist.contribute %arg2 axes = {"c"} : {{.*}}partial=sum{"c"}
// CHECK: graph.sub
// CHECK-NEXT: dist.contribute %{{.*}} axes = {"b"} : {{.*}}partial=sum{"c"}{{.*}} -> {{.*}}partial=sum{"b", "c"}
// CHECK-NEXT: graph.neg
// CHECK-NEXT: dist.all_reduce %{{.*}} axes = {"b", "c"}
// CHECK-NEXT: dist.contribute %{{.*}} axes = {"b"} : {{.*}}partial=max{"b"}
// CHECK-NEXT: graph.relu
// CHECK-NEXT: dist.all_reduce %{{.*}} axes = {"b"}
// CHECK-NEXT: return
func.func @contributions(%l: tensor<8x36xf32, #dist.sharding<@mesh, [{}, {"c"}]>>, %r: tensor<16x36xf32, #dist.sharding<@mesh, [{}, {"c"}]>>, %w: !whole) -> !whole {
  %0 = graph.linear %l, %r contract = 1 : (tensor<8x36xf32, #dist.sharding<@mesh, [{}, {"c"}]>>, tensor<16x36xf32, #dist.sharding<@mesh, [{}, {"c"}]>>) -> !one
  %1 = dist.reshard %w : !whole -> !one
  %2 = graph.add %0, %1 : (!one, !one) -> !one
  %z = graph.constant dense<0.0> : tensor<8x16xf32> : !whole
  %3 = dist.reshard %z : !whole -> !one
  %4 = graph.sub %2, %3 : (!one, !one) -> !one
  %5 = dist.reshard %4 : !one -> !both
  %6 = graph.neg %5 : !both
  %7 = dist.reshard %6 : !both -> !most
  %8 = graph.relu %7 : !most
  %9 = dist.reshard %8 : !most -> !whole
  return %9 : !whole
}
