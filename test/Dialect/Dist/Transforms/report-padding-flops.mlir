// FLOPs on padding, for the manifest: an element that two dimensions pad counts once. 3 x 3 over 2 x 2 ranks are 2 x 2 each, 9 of 16 rows of 4.
// RUN: llm-opt %s --dist-report-padding | FileCheck %s

dist.mesh @mesh = <["tp"=2, "x"=2]>
!padded = tensor<2x2x4xf32, #dist.sharding<@mesh, [{"tp"}, {"x"}, {}], global=[3, 3, 4]>>
!even = tensor<2x2x4xf32, #dist.sharding<@mesh, [{"tp"}, {"x"}, {}], global=[4, 4, 4]>>

// CHECK: func.func @padded{{.*}}{{.*}}dist.padding_flops = array<i64: 7, 16>}
func.func @padded(%x: !padded) -> !padded {
  %0 = graph.add %x, %x : (!padded, !padded) -> !padded
  return %0 : !padded
}

// CHECK: func.func @even
// CHECK-NOT: padding_flops
func.func @even(%x: !even) -> !even {
  %0 = graph.add %x, %x : (!even, !even) -> !even
  return %0 : !even
}
