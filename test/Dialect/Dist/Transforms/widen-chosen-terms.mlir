// Terms whose type somebody chose (`graph.terms`) are exchanged in it; what they are made of is as wide as it can be.
// RUN: llm-opt %s --dist-widen-partial-sums --verify-rung=rung=spmd | FileCheck %s

!x = tensor<4x8xbf16, #dist.sharding<@mesh, [{}, {"tp"}], global=[4, 16]>>
!w = tensor<6x8xbf16, #dist.sharding<@mesh, [{}, {"tp"}], global=[6, 16]>>
!p = tensor<4x6xbf16, #dist.sharding<@mesh, [{}, {}], partial=sum{"tp"}, global=[4, 6]>>
!y = tensor<4x6xbf16, #dist.sharding<@mesh, [{}, {}], global=[4, 6]>>
!pf = tensor<4x6xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"tp"}, global=[4, 6]>>
!yf = tensor<4x6xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 6]>>

dist.mesh @mesh = <["tp"=2]>

// The gradient of a weight: its product rounds, and ranks add up what is rounded.
// CHECK-LABEL: func.func @chosen
// CHECK: %[[TERM:.*]] = graph.linear {{.*}} -> tensor<4x6xbf16
// CHECK-NEXT: %[[SUM:.*]] = dist.all_reduce %[[TERM]] {{.*}} -> tensor<4x6xbf16
// CHECK-NEXT: return %[[SUM]]
func.func @chosen(%x: !x, %w: !w) -> !y {
  %0 = graph.linear %x, %w contract = 1 {graph.terms = bf16} : (!x, !w) -> !p
  %1 = dist.all_reduce %0 axes = {"tp"} : !p -> !y
  return %1 : !y
}

// A sum that is float32 is rounded before it is exchanged.
// CHECK-LABEL: func.func @rounded
// CHECK: %[[TERM:.*]] = graph.linear {{.*}} -> tensor<4x6xf32
// CHECK-NEXT: %[[NARROW:.*]] = graph.cast %[[TERM]] {{.*}} -> tensor<4x6xbf16
// CHECK-NEXT: dist.all_reduce %[[NARROW]] {{.*}} -> tensor<4x6xbf16
func.func @rounded(%x: !x, %w: !w) -> !y {
  %0 = graph.linear %x, %w contract = 1 : (!x, !w) -> !pf
  %1 = graph.cast %0 {graph.terms = bf16} : (!pf) -> !p
  %2 = dist.all_reduce %1 axes = {"tp"} : !p -> !y
  return %2 : !y
}

// What rounds reads the sum in float32, where the op that made it did not choose.
// CHECK-LABEL: func.func @made_of_wide
// CHECK: %[[TERM:.*]] = graph.linear {{.*}} -> tensor<4x6xf32
// CHECK-NOT: tensor<4x6xbf16, #dist.sharding<@mesh, [{}, {}], partial
// CHECK: %[[DOUBLE:.*]] = graph.add %[[TERM]], %[[TERM]] {{.*}} -> tensor<4x6xf32
// CHECK-NEXT: dist.all_reduce %[[DOUBLE]]
func.func @made_of_wide(%x: !x, %w: !w) -> !yf {
  %0 = graph.linear %x, %w contract = 1 : (!x, !w) -> !p
  %1 = graph.cast %0 : (!p) -> !pf
  %2 = graph.add %1, %1 : (!pf, !pf) -> !pf
  %3 = dist.all_reduce %2 axes = {"tp"} : !pf -> !yf
  return %3 : !yf
}

// So does a product that rounds for ranks.
!v = tensor<5x6xbf16, #dist.sharding<@mesh, [{}, {}], global=[5, 6]>>
!t = tensor<4x5xbf16, #dist.sharding<@mesh, [{}, {}], partial=sum{"tp"}, global=[4, 5]>>
!u = tensor<4x5xbf16, #dist.sharding<@mesh, [{}, {}], global=[4, 5]>>
// CHECK-LABEL: func.func @chosen_of_wide
// CHECK: %[[INNER:.*]] = graph.linear {{.*}} -> tensor<4x6xf32
// CHECK-NEXT: %[[TERM:.*]] = graph.linear %[[INNER]], %arg2 {{.*}} -> tensor<4x5xbf16
// CHECK-NEXT: dist.all_reduce %[[TERM]] {{.*}} -> tensor<4x5xbf16
func.func @chosen_of_wide(%x: !x, %w: !w, %v: !v) -> !u {
  %0 = graph.linear %x, %w contract = 1 : (!x, !w) -> !p
  %1 = graph.linear %0, %v contract = 1 {graph.terms = bf16} : (!p, !v) -> !t
  %2 = dist.all_reduce %1 axes = {"tp"} : !t -> !u
  return %2 : !u
}
