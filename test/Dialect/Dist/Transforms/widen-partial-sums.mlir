// Terms of 16-bit sums over ranks stay in float32 until they are summed. Numbers: test/Semantics/widen-partial-sums.test.
// RUN: llm-opt %s --dist-widen-partial-sums --verify-rung=rung=spmd | FileCheck %s

!x = tensor<4x8xbf16, #dist.sharding<@mesh, [{}, {"tp"}], global=[4, 16]>>
!w = tensor<6x8xbf16, #dist.sharding<@mesh, [{}, {"tp"}], global=[6, 16]>>
!p = tensor<4x6xbf16, #dist.sharding<@mesh, [{}, {}], partial=sum{"tp"}, global=[4, 6]>>
!y = tensor<4x6xbf16, #dist.sharding<@mesh, [{}, {}], global=[4, 6]>>
!s = tensor<2x6xbf16, #dist.sharding<@mesh, [{"tp"}, {}], global=[4, 6]>>
!t = tensor<8x6xbf16, #dist.sharding<@mesh, [{"tp"}, {}], global=[16, 6]>>
!i = tensor<4xi32, #dist.sharding<@mesh, [{}], global=[4]>>
!k = tensor<i32, #dist.sharding<@mesh, []>>

dist.mesh @mesh = <["tp"=2]>

// The sum is rounded where it is one, and not before.
// CHECK-LABEL: func.func @product
// CHECK: %[[TERM:.*]] = graph.linear {{.*}}xbf16{{.*}} -> tensor<4x6xf32
// CHECK: %[[SUM:.*]] = dist.all_reduce %[[TERM]] {{.*}} -> tensor<4x6xf32
// CHECK: %[[OUT:.*]] = graph.cast %[[SUM]] {{.*}} -> tensor<4x6xbf16
// CHECK: return %[[OUT]]
func.func @product(%x: !x, %w: !w) -> !y {
  %0 = graph.linear %x, %w contract = 1 : (!x, !w) -> !p
  %1 = dist.all_reduce %0 axes = {"tp"} : !p -> !y
  return %1 : !y
}

// What passes terms on computes in float32, with other operands widened.
// CHECK-LABEL: func.func @passed_on
// CHECK-COUNT-2: graph.linear {{.*}} -> tensor<4x6xf32
// CHECK: %[[ADDED:.*]] = graph.add {{.*}} -> tensor<4x6xf32
// CHECK: %[[WIDE:.*]] = graph.cast %arg2 {{.*}} -> tensor<4x6xf32
// CHECK: %[[SCALED:.*]] = graph.mul %[[ADDED]], %[[WIDE]] {{.*}} -> tensor<4x6xf32
// CHECK: %[[PIECE:.*]] = dist.reduce_scatter %[[SCALED]] {{.*}} -> tensor<2x6xf32
// CHECK: %[[OUT:.*]] = graph.cast %[[PIECE]] {{.*}} -> tensor<2x6xbf16
// CHECK: dist.all_reduce %[[ADDED]]
// CHECK: return %[[OUT]]
func.func @passed_on(%x: !x, %w: !w, %scale: !y) -> (!s, !y) {
  %0 = graph.linear %x, %w contract = 1 : (!x, !w) -> !p
  %1 = graph.linear %x, %w contract = 1 : (!x, !w) -> !p
  %2 = graph.add %0, %1 : (!p, !p) -> !p
  %3 = graph.mul %2, %scale : (!p, !y) -> !p
  %4 = dist.reduce_scatter %3 dim = 0 axes = {"tp"} : !p -> !s
  %5 = dist.all_reduce %2 axes = {"tp"} : !p -> !y
  return %4, %5 : !s, !y
}

// A reduce over a sharded dimension takes 16 bits and gives terms in float32.
// CHECK-LABEL: func.func @reduced
// CHECK: %[[TERM:.*]] = graph.reduce sum {{.*}}xbf16{{.*}} -> tensor<4xf32
// CHECK: %[[SUM:.*]] = dist.all_reduce %[[TERM]] {{.*}} -> tensor<4xf32
// CHECK: graph.cast %[[SUM]] {{.*}} -> tensor<4xbf16
func.func @reduced(%x: !x) -> tensor<4xbf16, #dist.sharding<@mesh, [{}], global=[4]>> {
  %0 = graph.reduce sum %x dims = [1] : (!x) -> tensor<4xbf16, #dist.sharding<@mesh, [{}], partial=sum{"tp"}, global=[4]>>
  %1 = dist.all_reduce %0 axes = {"tp"} : tensor<4xbf16, #dist.sharding<@mesh, [{}], partial=sum{"tp"}, global=[4]>> -> tensor<4xbf16, #dist.sharding<@mesh, [{}], global=[4]>>
  return %1 : tensor<4xbf16, #dist.sharding<@mesh, [{}], global=[4]>>
}

// One rank has the row, the others zeros: nothing to be kept.
// CHECK-LABEL: func.func @lookup
// CHECK-NOT: f32
// CHECK: return
func.func @lookup(%t: !t, %ids: !i) -> !y {
  %0 = graph.embedding %t, %ids : (!t, !i) -> !p
  %1 = dist.all_reduce %0 axes = {"tp"} : !p -> !y
  return %1 : !y
}

// A lookup's terms cannot be widened before they are summed, so what is added to them stays narrow.
// CHECK-LABEL: func.func @with_a_lookup
// CHECK-NOT: f32
// CHECK: return
func.func @with_a_lookup(%x: !x, %w: !w, %t: !t, %ids: !i) -> !y {
  %0 = graph.linear %x, %w contract = 1 : (!x, !w) -> !p
  %1 = graph.embedding %t, %ids : (!t, !i) -> !p
  %2 = graph.add %0, %1 : (!p, !p) -> !p
  %3 = dist.all_reduce %2 axes = {"tp"} : !p -> !y
  return %3 : !y
}

// What one rank contributes is cast before: it is added to terms in float32.
// CHECK-LABEL: func.func @with_a_contribution
// CHECK: %[[WIDE:.*]] = graph.cast %arg2 {{.*}} -> tensor<4x6xf32
// CHECK: %[[ONE:.*]] = dist.contribute %[[WIDE]] {{.*}} -> tensor<4x6xf32
// CHECK-NOT: dist.contribute
// CHECK: %[[ADDED:.*]] = graph.add %{{.*}}, %[[ONE]] {{.*}} -> tensor<4x6xf32
// CHECK: dist.all_reduce %[[ADDED]] {{.*}} -> tensor<4x6xf32
// Alone it is exact in 16 bits.
// CHECK: dist.contribute {{.*}} -> tensor<4x6xbf16
// CHECK-NEXT: dist.all_reduce {{.*}} -> tensor<4x6xbf16
func.func @with_a_contribution(%x: !x, %w: !w, %bias: !y) -> (!y, !y) {
  %0 = graph.linear %x, %w contract = 1 : (!x, !w) -> !p
  %1 = dist.contribute %bias axes = {"tp"} : !y -> !p
  %2 = graph.add %0, %1 : (!p, !p) -> !p
  %3 = dist.all_reduce %2 axes = {"tp"} : !p -> !y
  %4 = dist.contribute %bias axes = {"tp"} : !y -> !p
  %5 = dist.all_reduce %4 axes = {"tp"} : !p -> !y
  return %3, %5 : !y, !y
}

// A loop carries its own type: what it adds up stays narrow, as no partial sum is rounded.
// CHECK-LABEL: func.func @carried
// CHECK-NOT: f32
// CHECK: return
func.func @carried(%x: !x, %w: !w) -> !y {
  %0 = graph.linear %x, %w contract = 1 : (!x, !w) -> !p
  %1 = graph.repeat 3 carry(%0 : !p) -> (!p) {
  ^bb0(%layer: !k, %sum: !p):
    %2 = graph.linear %x, %w contract = 1 : (!x, !w) -> !p
    %3 = graph.add %sum, %2 : (!p, !p) -> !p
    graph.yield %3 : !p
  }
  %4 = dist.all_reduce %1 axes = {"tp"} : !p -> !y
  return %4 : !y
}

// float16 as bfloat16.
!hx = tensor<4x8xf16, #dist.sharding<@mesh, [{}, {"tp"}], global=[4, 16]>>
!hp = tensor<4xf16, #dist.sharding<@mesh, [{}], partial=sum{"tp"}, global=[4]>>
!hy = tensor<4xf16, #dist.sharding<@mesh, [{}], global=[4]>>
// CHECK-LABEL: func.func @reduced_float16
// CHECK: %[[TERM:.*]] = graph.reduce sum {{.*}}xf16{{.*}} -> tensor<4xf32
// CHECK: %[[SUM:.*]] = dist.all_reduce %[[TERM]] {{.*}} -> tensor<4xf32
// CHECK: graph.cast %[[SUM]] {{.*}} -> tensor<4xf16
func.func @reduced_float16(%x: !hx) -> !hy {
  %0 = graph.reduce sum %x dims = [1] : (!hx) -> !hp
  %1 = dist.all_reduce %0 axes = {"tp"} : !hp -> !hy
  return %1 : !hy
}

// Both results of an op, each with readers of its own.
!aq = tensor<1x4x2x1x8xbf16, #dist.sharding<@mesh, [{}, {"tp"}, {}, {}, {}], global=[1, 8, 2, 1, 8]>>
!ak = tensor<1x8x2x8xbf16, #dist.sharding<@mesh, [{}, {}, {}, {}], global=[1, 8, 2, 8]>>
!ap = tensor<1x4xi32, #dist.sharding<@mesh, [{}, {"tp"}], global=[1, 8]>>
!ar = tensor<1x4x2x1xf32, #dist.sharding<@mesh, [{}, {"tp"}, {}, {}], global=[1, 8, 2, 1]>>
!at = tensor<1x8x2x8xbf16, #dist.sharding<@mesh, [{}, {}, {}, {}], partial=sum{"tp"}, global=[1, 8, 2, 8]>>
!as = tensor<1x4x2x8xbf16, #dist.sharding<@mesh, [{}, {"tp"}, {}, {}], global=[1, 8, 2, 8]>>
// CHECK-LABEL: func.func @two_results
// CHECK: %[[KEYS:.*]], %[[VALUES:.*]] = graph.attention_key_value_gradient {{.*}} -> (tensor<1x8x2x8xf32, {{.*}}>, tensor<1x8x2x8xf32, {{.*}}>)
// CHECK: %[[SUM:.*]] = dist.all_reduce %[[KEYS]] {{.*}} -> tensor<1x8x2x8xf32
// CHECK: graph.cast %[[SUM]] {{.*}} -> tensor<1x8x2x8xbf16
// CHECK: %[[DOUBLE:.*]] = graph.add %[[VALUES]], %[[VALUES]] {{.*}} -> tensor<1x8x2x8xf32
// CHECK: %[[PIECE:.*]] = dist.reduce_scatter %[[DOUBLE]] {{.*}} -> tensor<1x4x2x8xf32
// CHECK: graph.cast %[[PIECE]] {{.*}} -> tensor<1x4x2x8xbf16
func.func @two_results(%q: !aq, %k: !ak, %p: !ap, %g: !aq, %s: !ar, %d: !ar) -> (!ak, !as) {
  %0, %1 = graph.attention_key_value_gradient %q, %k, %k, %p, %g, %s, %d scale = 0.5 : (!aq, !ak, !ak, !ap, !aq, !ar, !ar) -> (!at, !at)
  %2 = dist.all_reduce %0 axes = {"tp"} : !at -> !ak
  %3 = graph.add %1, %1 : (!at, !at) -> !at
  %4 = dist.reduce_scatter %3 dim = 1 axes = {"tp"} : !at -> !as
  return %2, %4 : !ak, !as
}

// A loop carries terms of one of them: both stay narrow, as the sum that is carried must not be rounded.
// CHECK-LABEL: func.func @one_result_carried
// CHECK: graph.attention_key_value_gradient {{.*}} -> (tensor<1x8x2x8xbf16, {{.*}}>, tensor<1x8x2x8xbf16, {{.*}}>)
// CHECK-NOT: f32
// CHECK: return
func.func @one_result_carried(%q: !aq, %k: !ak, %p: !ap, %g: !aq, %s: !ar, %d: !ar) -> (!ak, !ak) {
  %0, %1 = graph.attention_key_value_gradient %q, %k, %k, %p, %g, %s, %d scale = 0.5 : (!aq, !ak, !ak, !ap, !aq, !ar, !ar) -> (!at, !at)
  %2 = dist.all_reduce %0 axes = {"tp"} : !at -> !ak
  %3 = graph.repeat 3 carry(%1 : !at) -> (!at) {
  ^bb0(%layer: !k, %sum: !at):
    %5 = graph.add %sum, %sum : (!at, !at) -> !at
    graph.yield %5 : !at
  }
  %4 = dist.all_reduce %3 axes = {"tp"} : !at -> !ak
  return %2, %4 : !ak, !ak
}
