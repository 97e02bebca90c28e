// How often a stored weight is gathered and for how long the whole is held. Values that are no weights are not counted, two gathers in a row are one.
// RUN: llm-opt %s --dist-report-weights --remarks-filter=dist --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s
// RUN: llm-opt %s --dist-report-weights -o /dev/null 2>&1 | count 0

// CHECK-NOT: remark
// CHECK: remark: [Passed] weight {{.*}}"once in @block: gathered over {x} once: the whole, 128 bytes, is held until its last use"
// CHECK-NOT: remark
// CHECK: remark: [Passed] weight {{.*}}"both in @block: gathered over {x, y} twice: the whole, 128 bytes, is held until its last use"
// CHECK-NOT: remark
// CHECK: remark: [Passed] weight {{.*}}"stack in @loops: gathered over {x} twice, in loops of 3 iterations: one layer is held at a time, 128 bytes; all layers, kept from one loop to the next, would be 384"
// CHECK-NOT: remark
// CHECK: remark: [Passed] weight {{.*}}"single in @loops: gathered over {y} once, in a loop of 3 iterations: one layer is held at a time, 128 bytes"
// CHECK-NOT: remark

dist.mesh @mesh = <["x"=2, "y"=2]>
!w = tensor<4x8xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 8]>>
!wx = tensor<2x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[4, 8]>>
!wxt = tensor<8x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[8, 4]>>
!wt = tensor<8x4xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 4]>>
!wxy = tensor<2x4xf32, #dist.sharding<@mesh, [{"x"}, {"y"}], global=[4, 8]>>
!wy = tensor<4x4xf32, #dist.sharding<@mesh, [{}, {"y"}], global=[4, 8]>>
!sx = tensor<3x2x8xf32, #dist.sharding<@mesh, [{}, {"x"}, {}], global=[3, 4, 8]>>
!sy = tensor<3x4x4xf32, #dist.sharding<@mesh, [{}, {}, {"y"}], global=[3, 4, 8]>>

func.func @block(%a: !wx {graph.kind = #graph.kind<parameter>, graph.name = "once"}, %b: !wxy {graph.kind = #graph.kind<parameter>, graph.name = "both"},
    %x: !wx {graph.kind = #graph.kind<input>, graph.name = "x"}) {
  %0 = dist.all_gather %a dim = 0 axes = {"x"} : !wx -> !w
  %1 = dist.all_gather %b dim = 0 axes = {"x"} : !wxy -> !wy
  %2 = dist.all_gather %1 dim = 1 axes = {"y"} : !wy -> !w
  %3 = graph.neg %b : !wxy
  %4 = dist.all_gather %3 dim = 0 axes = {"x"} : !wxy -> !wy
  %5 = dist.all_gather %x dim = 0 axes = {"x"} : !wx -> !w
  %6 = graph.add %x, %a : (!wx, !wx) -> !wx
  %7 = dist.all_gather %6 dim = 0 axes = {"x"} : !wx -> !w
  return
}

func.func @loops(%c: !w {graph.kind = #graph.kind<input>, graph.name = "c"}, %s: !sx {graph.kind = #graph.kind<parameter>, graph.name = "stack"},
    %t: !sy {graph.kind = #graph.kind<parameter>, graph.name = "single"}) {
  %0 = graph.repeat 3 carry(%c : !w) stack(%s, %t : !sx, !sy) -> (!w) {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %a: !w, %si: !wx, %ti: !wy):
    %1 = dist.all_gather %si dim = 0 axes = {"x"} : !wx -> !w
    %2 = dist.all_gather %ti dim = 1 axes = {"y"} : !wy -> !w
    graph.yield %1 : !w
  }
  %1 = graph.repeat 3 reverse carry(%c : !w) stack(%s : !sx) -> (!w) {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %a: !w, %si: !wx):
    %2 = graph.transpose %si [1, 0] : (!wx) -> !wxt
    %3 = dist.all_gather %2 dim = 1 axes = {"x"} : !wxt -> !wt
    graph.yield %a : !w
  }
  return
}
