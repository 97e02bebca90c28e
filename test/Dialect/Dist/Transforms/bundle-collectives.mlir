// Small collectives that do not wait for each other are one, where that saves more than copying costs. Numbers: test/Semantics/bundle-collectives.test.
// RUN: llm-opt %s --dist-bundle-collectives | FileCheck %s

!s = tensor<f32, #dist.sharding<@mesh, []>>
!v = tensor<8xf32, #dist.sharding<@mesh, [{}], global=[8]>>
!vx = tensor<4xf32, #dist.sharding<@mesh, [{"x"}], global=[8]>>
!ps = tensor<f32, #dist.sharding<@mesh, [], partial=sum{"x"}>>
!pv = tensor<8xf32, #dist.sharding<@mesh, [{}], partial=sum{"x"}, global=[8]>>
!w = tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 8]>>
!wx = tensor<4x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[8, 8]>>
!wk = tensor<8x4xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[8, 8]>>
!big = tensor<4x2048xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[8, 2048]>>
!bigw = tensor<8x2048xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 2048]>>
!vy = tensor<4xf32, #dist.sharding<@mesh, [{"y"}], global=[8]>>
!psy = tensor<f32, #dist.sharding<@mesh, [], partial=sum{"y"}>>

!row = tensor<1x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[1, 8]>>
!rows = tensor<1x8xf32, #dist.sharding<@mesh, [{}, {}], global=[1, 8]>>

module attributes {dist.machine = "{\"memory_bandwidth\": 1e10, \"link\": {\"latency\": 1e-6, \"bandwidth\": 1e9}}"} {
dist.mesh @mesh = <["x"=2, "y"=2]>

// Two sums of different shapes lie flat in one buffer.
// CHECK-LABEL: func.func @sums
func.func @sums(%a: !vx, %b: !wk) -> (!s, !v) {
  // CHECK: %[[C:.*]] = graph.concat %{{.*}}, %{{.*}} dim = 0 {{.*}} -> tensor<9xf32, #dist.sharding<@mesh, [{}], partial=sum{"x"}, global=[9]>>
  // CHECK-NEXT: %[[R:.*]] = dist.all_reduce %[[C]] axes = {"x"} {dist.bundled, why = "total; rows"} {{.*}} -> tensor<9xf32
  // CHECK: graph.slice %[[R]] at [0] {{.*}} -> tensor<1xf32
  // CHECK: graph.slice %[[R]] at [1] {{.*}} -> tensor<8xf32
  // CHECK-NOT: = dist.
  // CHECK: return
  %0 = graph.reduce sum %a dims = [0] : (!vx) -> !ps
  %1 = dist.all_reduce %0 axes = {"x"} {why = "total"} : !ps -> !s
  %2 = graph.reduce sum %b dims = [1] : (!wk) -> !pv
  %3 = dist.all_reduce %2 axes = {"x"} {why = "rows"} : !pv -> !v
  return %1, %3 : !s, !v
}

// A sum and a maximum over the same ranks are two.
// CHECK-LABEL: func.func @sum_and_maximum
func.func @sum_and_maximum(%a: !vx, %b: !wk) -> (!s, !v) {
  // CHECK-NOT: graph.concat
  // CHECK-COUNT-2: = dist.all_reduce
  %0 = graph.reduce max %a dims = [0] : (!vx) -> tensor<f32, #dist.sharding<@mesh, [], partial=max{"x"}>>
  %1 = dist.all_reduce %0 axes = {"x"} : tensor<f32, #dist.sharding<@mesh, [], partial=max{"x"}>> -> !s
  %2 = graph.reduce sum %b dims = [1] : (!wk) -> !pv
  %3 = dist.all_reduce %2 axes = {"x"} : !pv -> !v
  return %1, %3 : !s, !v
}

// What reads the first waits for the last; the last must not need it.
// CHECK-LABEL: func.func @readers_wait
func.func @readers_wait(%a: !vx, %b: !vx) -> (!s, !s) {
  // CHECK-COUNT-1: = dist.all_reduce
  // CHECK-NOT: = dist.
  // CHECK: graph.mul
  %0 = graph.reduce sum %a dims = [0] : (!vx) -> !ps
  %1 = dist.all_reduce %0 axes = {"x"} : !ps -> !s
  %2 = graph.mul %1, %1 : (!s, !s) -> !s
  %3 = graph.reduce sum %b dims = [0] : (!vx) -> !ps
  %4 = dist.all_reduce %3 axes = {"x"} : !ps -> !s
  return %2, %4 : !s, !s
}

// CHECK-LABEL: func.func @one_after_the_other
func.func @one_after_the_other(%a: !vx) -> (!s) {
  // CHECK-COUNT-2: = dist.all_reduce
  %0 = graph.reduce sum %a dims = [0] : (!vx) -> !ps
  %1 = dist.all_reduce %0 axes = {"x"} : !ps -> !s
  %2 = graph.add %a, %1 : (!vx, !s) -> !vx
  %3 = graph.reduce sum %2 dims = [0] : (!vx) -> !ps
  %4 = dist.all_reduce %3 axes = {"x"} : !ps -> !s
  return %4 : !s
}

// Gathers and exchanges of equal types are stacked; k and v go to heads together.
// CHECK-LABEL: func.func @stacked
func.func @stacked(%k: !wx, %v: !wx, %a: !vx, %b: !vx) -> (!wk, !wk, !v, !v) {
  // CHECK: %[[KV:.*]] = graph.concat {{.*}} dim = 0 {{.*}} -> tensor<2x4x8xf32, #dist.sharding<@mesh, [{}, {"x"}, {}], global=[2, 8, 8]>>
  // CHECK-NEXT: dist.all_to_all %[[KV]] from = 1 to = 2 axes = {"x"}
  // CHECK: %[[AB:.*]] = graph.concat {{.*}} dim = 0 {{.*}} -> tensor<2x4xf32
  // CHECK-NEXT: dist.all_gather %[[AB]] dim = 1 axes = {"x"}
  // CHECK-NOT: = dist.
  // CHECK: return
  %0 = dist.all_to_all %k from = 0 to = 1 axes = {"x"} : !wx -> !wk
  %1 = dist.all_to_all %v from = 0 to = 1 axes = {"x"} : !wx -> !wk
  %2 = dist.all_gather %a dim = 0 axes = {"x"} : !vx -> !v
  %3 = dist.all_gather %b dim = 0 axes = {"x"} : !vx -> !v
  return %0, %1, %2, %3 : !wk, !wk, !v, !v
}


// Large ones are not worth copying, other axes are other ranks, and nothing large waits.
// CHECK-LABEL: func.func @left_alone
func.func @left_alone(%a: !big, %b: !big, %c: !vx, %d: !vy, %e: !vx, %f: !bigw) -> (!bigw, !bigw, !s, !s, !bigw, !s) {
  // CHECK-NOT: graph.concat
  %0 = dist.all_gather %a dim = 0 axes = {"x"} : !big -> !bigw
  %1 = dist.all_gather %b dim = 0 axes = {"x"} : !big -> !bigw
  %2 = graph.reduce sum %c dims = [0] : (!vx) -> !ps
  %3 = dist.all_reduce %2 axes = {"x"} : !ps -> !s
  %4 = graph.reduce sum %d dims = [0] : (!vy) -> !psy
  %5 = dist.all_reduce %4 axes = {"y"} : !psy -> !s
  %6 = graph.mul %f, %3 : (!bigw, !s) -> !bigw
  // What this sums up is there later than what waits for the first sum could be.
  %e1 = graph.add %e, %e : (!vx, !vx) -> !vx
  %e2 = graph.add %e1, %e : (!vx, !vx) -> !vx
  %e3 = graph.add %e2, %e : (!vx, !vx) -> !vx
  %7 = graph.reduce sum %e3 dims = [0] : (!vx) -> !ps
  %8 = dist.all_reduce %7 axes = {"x"} : !ps -> !s
  return %0, %1, %3, %5, %6, %8 : !bigw, !bigw, !s, !s, !bigw, !s
}

// One row over two ranks: which of two dimensions of 1 is split cannot be told, they stay apart.
// CHECK-LABEL: func.func @one_row
func.func @one_row(%a: !row, %b: !row) -> (!rows, !rows) {
  // CHECK-COUNT-2: dist.all_gather
  %0 = dist.all_gather %a dim = 0 axes = {"x"} : !row -> !rows
  %1 = dist.all_gather %b dim = 0 axes = {"x"} : !row -> !rows
  return %0, %1 : !rows, !rows
}

// The same ops in two orders: what would wait for the second sum is a lot only where it is written before it. Whether the sums are one must not hang
// on that: the first is of the same type in both.
// CHECK-LABEL: func.func @waits_for_a
func.func @waits_for_a(%a: !vx, %b: !wk, %f: !bigw) -> (!bigw, !s, !s) {
  // CHECK: = dist.all_reduce {{.*}} -> [[A:tensor<.*>]]
  %0 = graph.reduce sum %a dims = [0] : (!vx) -> !ps
  %1 = dist.all_reduce %0 axes = {"x"} : !ps -> !s
  %4 = graph.mul %f, %1 : (!bigw, !s) -> !bigw
  %2 = graph.reduce sum %b dims = [0, 1] : (!wk) -> !ps
  %3 = dist.all_reduce %2 axes = {"x"} : !ps -> !s
  return %4, %1, %3 : !bigw, !s, !s
}

// CHECK-LABEL: func.func @waits_for_a_last
func.func @waits_for_a_last(%a: !vx, %b: !wk, %f: !bigw) -> (!bigw, !s, !s) {
  // CHECK: = dist.all_reduce {{.*}} -> [[A]]
  %0 = graph.reduce sum %a dims = [0] : (!vx) -> !ps
  %1 = dist.all_reduce %0 axes = {"x"} : !ps -> !s
  %2 = graph.reduce sum %b dims = [0, 1] : (!wk) -> !ps
  %3 = dist.all_reduce %2 axes = {"x"} : !ps -> !s
  %4 = graph.mul %f, %1 : (!bigw, !s) -> !bigw
  return %4, %1, %3 : !bigw, !s, !s
}

// CHECK-LABEL: func.func @waits_for_b
func.func @waits_for_b(%a: !vx, %b: !wk, %f: !bigw) -> (!bigw, !s, !s) {
  // CHECK: = dist.all_reduce {{.*}} -> [[B:tensor<.*>]]
  %2 = graph.reduce sum %b dims = [0, 1] : (!wk) -> !ps
  %3 = dist.all_reduce %2 axes = {"x"} : !ps -> !s
  %4 = graph.mul %f, %3 : (!bigw, !s) -> !bigw
  %0 = graph.reduce sum %a dims = [0] : (!vx) -> !ps
  %1 = dist.all_reduce %0 axes = {"x"} : !ps -> !s
  return %4, %1, %3 : !bigw, !s, !s
}

// CHECK-LABEL: func.func @waits_for_b_last
func.func @waits_for_b_last(%a: !vx, %b: !wk, %f: !bigw) -> (!bigw, !s, !s) {
  // CHECK: = dist.all_reduce {{.*}} -> [[B]]
  %0 = graph.reduce sum %a dims = [0] : (!vx) -> !ps
  %1 = dist.all_reduce %0 axes = {"x"} : !ps -> !s
  %2 = graph.reduce sum %b dims = [0, 1] : (!wk) -> !ps
  %3 = dist.all_reduce %2 axes = {"x"} : !ps -> !s
  %4 = graph.mul %f, %3 : (!bigw, !s) -> !bigw
  return %4, %1, %3 : !bigw, !s, !s
}
// Nor on the reasons, which name the reader that was written first.
// CHECK-LABEL: func.func @why_0
func.func @why_0(%a: !vx, %b: !wk, %f: !bigw) -> (!bigw, !s, !s) {
  // CHECK: = dist.all_reduce {{.*}} -> [[A]]
  %0 = graph.reduce sum %a dims = [0] : (!vx) -> !ps
  %1 = dist.all_reduce %0 axes = {"x"} {why = "mul needs the sum"} : !ps -> !s
  %4 = graph.mul %f, %1 : (!bigw, !s) -> !bigw
  %2 = graph.reduce sum %b dims = [0, 1] : (!wk) -> !ps
  %3 = dist.all_reduce %2 axes = {"x"} : !ps -> !s
  return %4, %1, %3 : !bigw, !s, !s
}

// CHECK-LABEL: func.func @why_1
func.func @why_1(%a: !vx, %b: !wk, %f: !bigw) -> (!bigw, !s, !s) {
  // CHECK: = dist.all_reduce {{.*}} -> [[A]]
  %0 = graph.reduce sum %a dims = [0] : (!vx) -> !ps
  %1 = dist.all_reduce %0 axes = {"x"} {why = "add needs the sum"} : !ps -> !s
  %4 = graph.mul %f, %1 : (!bigw, !s) -> !bigw
  %2 = graph.reduce sum %b dims = [0, 1] : (!wk) -> !ps
  %3 = dist.all_reduce %2 axes = {"x"} : !ps -> !s
  return %4, %1, %3 : !bigw, !s, !s
}

// CHECK-LABEL: func.func @why_2
func.func @why_2(%a: !vx, %b: !wk, %f: !bigw) -> (!bigw, !s, !s) {
  // CHECK: = dist.all_reduce {{.*}} -> [[A]]
  %0 = graph.reduce sum %a dims = [0] : (!vx) -> !ps
  %1 = dist.all_reduce %0 axes = {"x"} {why = "the caller needs the sum"} : !ps -> !s
  %4 = graph.mul %f, %1 : (!bigw, !s) -> !bigw
  %2 = graph.reduce sum %b dims = [0, 1] : (!wk) -> !ps
  %3 = dist.all_reduce %2 axes = {"x"} : !ps -> !s
  return %4, %1, %3 : !bigw, !s, !s
}
}
