// A lookup has its terms in the type of its table. A contribution of such terms cannot be cast before they are summed: the sum stays in 16 bits.
// RUN: env MALLOC_PERTURB_=165 llm-opt %s --dist-widen-partial-sums --verify-rung=rung=spmd | FileCheck %s

!x = tensor<4x2xbf16, #dist.sharding<@mesh, [{}, {"a", "b"}], global=[4, 8]>>
!w = tensor<6x2xbf16, #dist.sharding<@mesh, [{}, {"a", "b"}], global=[6, 8]>>
!t = tensor<8x6xbf16, #dist.sharding<@mesh, [{"a"}, {}], global=[16, 6]>>
!i = tensor<4xi32, #dist.sharding<@mesh, [{}], global=[4]>>
!a = tensor<4x6xbf16, #dist.sharding<@mesh, [{}, {}], partial=sum{"a"}, global=[4, 6]>>
!p = tensor<4x6xbf16, #dist.sharding<@mesh, [{}, {}], partial=sum{"a", "b"}, global=[4, 6]>>
!p3 = tensor<12x6xbf16, #dist.sharding<@mesh, [{}, {}], partial=sum{"a", "b"}, global=[12, 6]>>
!y3 = tensor<12x6xbf16, #dist.sharding<@mesh, [{}, {}], global=[12, 6]>>
!y = tensor<4x6xbf16, #dist.sharding<@mesh, [{}, {}], global=[4, 6]>>

dist.mesh @mesh = <["a"=2, "b"=2]>

// CHECK-LABEL: func.func @contributed_lookup
// CHECK-NOT: f32
// CHECK: dist.all_reduce {{.*}} -> tensor<4x6xbf16
func.func @contributed_lookup(%x: !x, %w: !w, %table: !t, %tokens: !i) -> !y {
  %0 = graph.linear %x, %w contract = 1 : (!x, !w) -> !p
  %1 = graph.embedding %table, %tokens : (!t, !i) -> !a
  %2 = dist.contribute %1 axes = {"b"} : !a -> !p
  %3 = graph.add %0, %2 : (!p, !p) -> !p
  %4 = dist.all_reduce %3 axes = {"a", "b"} : !p -> !y
  return %4 : !y
}

// One contribution that an op takes twice is widened once.
// CHECK-LABEL: func.func @taken_twice
// CHECK: %[[TERM:.*]] = graph.linear {{.*}} -> tensor<4x6xf32
// CHECK: %[[ONE:.*]] = dist.contribute {{.*}} -> tensor<4x6xf32
// CHECK-NOT: dist.contribute
// CHECK: graph.concat %[[TERM]], %[[ONE]], %[[ONE]]
func.func @taken_twice(%x: !x, %w: !w, %bias: !y) -> !y3 {
  %0 = graph.linear %x, %w contract = 1 : (!x, !w) -> !p
  %1 = dist.contribute %bias axes = {"a", "b"} : !y -> !p
  %2 = graph.concat %0, %1, %1 dim = 0 : (!p, !p, !p) -> !p3
  %3 = dist.all_reduce %2 axes = {"a", "b"} : !p3 -> !y3
  return %3 : !y3
}
