// What several small collectives become is called by all their names, each once; a single name stays what it is.
// RUN: llm-opt %s --dist-bundle-collectives --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

!s = tensor<f32, #dist.sharding<@mesh, []>>
!ps = tensor<f32, #dist.sharding<@mesh, [], partial=sum{"x"}>>
!vx = tensor<4xf32, #dist.sharding<@mesh, [{"x"}], global=[8]>>

module attributes {dist.machine = "{\"memory_bandwidth\": 1e10, \"link\": {\"latency\": 1e-6, \"bandwidth\": 1e9}}"} {
dist.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func @several
// CHECK: graph.concat {{.*}} loc(fused<"loss, norm">[
// CHECK: dist.all_reduce {{.*}} loc(fused<"loss, norm">[
// CHECK: graph.slice {{.*}} at [1] {{.*}} loc(fused<"norm">[
func.func @several(%a: !vx, %b: !vx, %c: !vx) -> (!s, !s, !s) {
  %0 = graph.reduce sum %a dims = [0] : (!vx) -> !ps
  %1 = dist.all_reduce %0 axes = {"x"} : !ps -> !s loc(fused<"loss">["a"])
  %2 = graph.reduce sum %b dims = [0] : (!vx) -> !ps
  %3 = dist.all_reduce %2 axes = {"x"} : !ps -> !s loc(fused<"norm">["b"])
  %4 = graph.reduce sum %c dims = [0] : (!vx) -> !ps
  %5 = dist.all_reduce %4 axes = {"x"} : !ps -> !s loc(fused<"loss">["c"])
  return %1, %3, %5 : !s, !s, !s
}

// CHECK-LABEL: func.func @one
// CHECK: dist.all_reduce {{.*}} loc(fused[fused<"loss">["a"], "b"])
func.func @one(%a: !vx, %b: !vx) -> (!s, !s) {
  %0 = graph.reduce sum %a dims = [0] : (!vx) -> !ps
  %1 = dist.all_reduce %0 axes = {"x"} : !ps -> !s loc(fused<"loss">["a"])
  %2 = graph.reduce sum %b dims = [0] : (!vx) -> !ps
  %3 = dist.all_reduce %2 axes = {"x"} : !ps -> !s loc("b")
  return %1, %3 : !s, !s
}
}
