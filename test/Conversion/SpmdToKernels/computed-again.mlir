// Small work that several kernels need is computed again in each. The denominator is read by both norms; the second norm, which is computed again for two
// products, reads the copy beside it, as the copies of the first one do.
// RUN: llm-opt %s --spmd-to-kernels='target=cuda target-options=grain=64' | FileCheck %s

// CHECK-LABEL: func.func @shared
// CHECK: %[[FIRST:.*]] = exec.launch @exp_div_mul_linear_1x1x1 ins(
// CHECK: exec.collective all_gather none over {{.*}} ins(%[[FIRST]] :
// CHECK: exec.launch @[[BOTH:exp_div_mul_linear_1x1x256[_0-9]*]] ins({{.*}}, tensor<256x128xf32>, tensor<256x128xf32>)
// CHECK-NOT: exec.launch
// CHECK: func.func private @[[BOTH]]
// CHECK: scf.if
// CHECK: math.exp
// CHECK: } else {
// CHECK: math.exp
dist.mesh @mesh = <["x"=2]>
!s = tensor<1x1x1xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1, 1, 1]>>
!x = tensor<1x1x128xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1, 1, 128]>>
!half = tensor<1x1x64xf32, #dist.sharding<@mesh, [{}, {}, {"x"}], global=[1, 1, 128]>>
!w0 = tensor<64x128xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[128, 128]>>
!w = tensor<256x128xf32, #dist.sharding<@mesh, [{}, {}], global=[256, 128]>>
!y = tensor<1x1x256xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1, 1, 256]>>
!c = tensor<f32, #dist.sharding<@mesh, []>>
func.func @shared(%x: !x {graph.kind = #graph.kind<input>, graph.name = "x"}, %p: !s {graph.kind = #graph.kind<input>, graph.name = "p"}, %n: !c {graph.kind = #graph.kind<input>, graph.name = "n"},
    %w0: !w0 {graph.kind = #graph.kind<input>, graph.name = "w0"}, %w1: !w {graph.kind = #graph.kind<input>, graph.name = "w1"}, %w2: !w {graph.kind = #graph.kind<input>, graph.name = "w2"})
    -> (!y {graph.kind = #graph.kind<output>, graph.name = "y1"}, !y {graph.kind = #graph.kind<output>, graph.name = "y2"}) {
  %c = graph.exp %n : !c
  %a = graph.div %p, %c : (!s, !c) -> !s
  %xa = graph.mul %x, %a : (!x, !s) -> !x
  %y0 = graph.linear %xa, %w0 contract = 1 : (!x, !w0) -> !half
  %q = dist.all_gather %y0 dim = 2 axes = {"x"} : !half -> !x
  %b = graph.div %p, %c : (!s, !c) -> !s
  %xb = graph.mul %q, %b : (!x, !s) -> !x
  %y1 = graph.linear %xb, %w1 contract = 1 : (!x, !w) -> !y
  %y2 = graph.linear %xb, %w2 contract = 1 : (!x, !w) -> !y
  return %y1, %y2 : !y, !y
}
