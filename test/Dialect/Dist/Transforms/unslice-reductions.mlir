// Reducing what was sliced out of a whole value, then summing up over the ranks: the whole is reduced instead, where that is little work. Numbers:
// test/Semantics/unslice-reductions.mlir.
// RUN: llm-opt %s --dist-optimize-collectives | FileCheck %s
// RUN: llm-opt %s --dist-optimize-collectives --remarks-filter=dist --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: remark: [Passed] unslice {{.*}}"reduce of the whole on every rank ({{.*}} us more) in place of a collective ({{.*}} us)"

dist.mesh @mesh = <["x"=2, "y"=2]>
!w = tensor<4x10xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 10]>>
!p = tensor<4x5xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 10]>>
!m = tensor<4xf32, #dist.sharding<@mesh, [{}], partial=max{"x"}, global=[4]>>
!r = tensor<4xf32, #dist.sharding<@mesh, [{}], global=[4]>>

// CHECK-LABEL: func.func @maximum
func.func @maximum(%a: !w) -> (!r, !p) {
  // CHECK: %[[S:.*]] = dist.all_slice %arg0
  // CHECK-NEXT: %[[R:.*]] = graph.reduce max %arg0 dims = [1] : (tensor<4x10xf32
  // CHECK-NEXT: return %[[R]], %[[S]]
  %0 = dist.all_slice %a dim = 1 axes = {"x"} : !w -> !p
  %1 = graph.reduce max %0 dims = [1] : (!p) -> !m
  %2 = dist.all_reduce %1 axes = {"x"} : !m -> !r
  return %2, %0 : !r, !p
}

// Over y the value stays split into pieces that do not divide: masked again.
!y = tensor<4x4xf32, #dist.sharding<@mesh, [{}, {"y"}], global=[4, 7]>>
!yx = tensor<4x2xf32, #dist.sharding<@mesh, [{}, {"y", "x"}], global=[4, 7]>>
!myx = tensor<4xf32, #dist.sharding<@mesh, [{}], partial=max{"x", "y"}, global=[4]>>
!my = tensor<4xf32, #dist.sharding<@mesh, [{}], partial=max{"y"}, global=[4]>>
// CHECK-LABEL: func.func @padded
func.func @padded(%a: !y) -> !my {
  // CHECK: %[[M:.*]] = graph.mask_padding %arg0 dims = [1] value = 0xFFF0000000000000 : tensor<4x4xf32
  // CHECK-NEXT: %[[R:.*]] = graph.reduce max %[[M]]
  // CHECK-NEXT: return %[[R]]
  %0 = dist.all_slice %a dim = 1 axes = {"x"} : !y -> !yx
  %1 = graph.mask_padding %0 dims = [1] value = 0xFFF0000000000000 : !yx
  %2 = graph.reduce max %1 dims = [1] : (!yx) -> !myx
  %3 = dist.all_reduce %2 axes = {"x"} : !myx -> !my
  return %3 : !my
}

// Much work is divided all the same, and pieces that were not sliced here are all there is.
!W = tensor<4x4096xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 4096]>>
!P = tensor<4x2048xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 4096]>>
// CHECK-LABEL: func.func @divided
func.func @divided(%a: !W, %p: !p) -> (!r, !r) {
  // CHECK-COUNT-2: dist.all_reduce
  %0 = dist.all_slice %a dim = 1 axes = {"x"} : !W -> !P
  %1 = graph.reduce max %0 dims = [1] : (!P) -> !m
  %2 = dist.all_reduce %1 axes = {"x"} : !m -> !r
  %3 = graph.reduce max %p dims = [1] : (!p) -> !m
  %4 = dist.all_reduce %3 axes = {"x"} : !m -> !r
  return %2, %4 : !r, !r
}

// Sliced over y too, on a dimension that the result keeps: only behind a slice over x alone lies what the op would read.
!xy = tensor<4x4xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 4]>>
!xs = tensor<4x2xf32, #dist.sharding<@mesh, [{}, {"x"}], global=[4, 4]>>
!ys = tensor<2x4xf32, #dist.sharding<@mesh, [{"y"}, {}], global=[4, 4]>>
!xys = tensor<2x2xf32, #dist.sharding<@mesh, [{"y"}, {"x"}], global=[4, 4]>>
!mp = tensor<2xf32, #dist.sharding<@mesh, [{"y"}], partial=max{"x"}, global=[4]>>
!mr = tensor<2xf32, #dist.sharding<@mesh, [{"y"}], global=[4]>>
// CHECK-LABEL: func.func @two_slices
func.func @two_slices(%a: !xy) -> (!mr, !mr) {
  // CHECK: %[[Y:.*]] = dist.all_slice %arg0 dim = 0 axes = {"y"}
  // CHECK: graph.reduce max %[[Y]] dims = [1]
  // CHECK: graph.reduce max %{{.*}} dims = [1] : (tensor<2x2xf32
  // CHECK-NEXT: dist.all_reduce
  %0 = dist.all_slice %a dim = 0 axes = {"y"} : !xy -> !ys
  %1 = dist.all_slice %0 dim = 1 axes = {"x"} : !ys -> !xys
  %2 = graph.reduce max %1 dims = [1] : (!xys) -> !mp
  %3 = dist.all_reduce %2 axes = {"x"} : !mp -> !mr
  %4 = dist.all_slice %a dim = 1 axes = {"x"} : !xy -> !xs
  %5 = dist.all_slice %4 dim = 0 axes = {"y"} : !xs -> !xys
  %7 = graph.reduce max %5 dims = [1] : (!xys) -> !mp
  %8 = dist.all_reduce %7 axes = {"x"} : !mp -> !mr
  return %3, %8 : !mr, !mr
}
