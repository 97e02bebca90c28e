// Whoever reduces over a padded dimension masks first, unless zeros kill the rest.
// RUN: llm-opt %s --dist-partition | FileCheck %s

dist.mesh @mesh = <["x"=2, "y"=2, "z"=3]>
!h = tensor<4x5xf32, #dist.sharding<@mesh, [{}, {"x"}]>>
!w = tensor<3x5xf32, #dist.sharding<@mesh, [{}, {"x"}]>>
!s = tensor<7x3x5xf32, #dist.sharding<@mesh, [{}, {}, {"x"}]>>
!e = tensor<4x6xf32, #dist.sharding<@mesh, [{}, {"x"}]>>
!o = tensor<4x3xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
!v = tensor<4xf32, #dist.sharding<@mesh, [{}], partial=sum{"x"}>>
!m = tensor<4xf32, #dist.sharding<@mesh, [{}], partial=max{"x"}>>
!k = tensor<4xi64, #dist.sharding<@mesh, [{}], partial=max{"x"}>>

// CHECK-LABEL: func.func @sum
func.func @sum(%h: !h) {
  // CHECK: %[[M:.*]] = graph.mask_padding %arg0 dims = [1] value = 0.000000e+00
  // CHECK: graph.reduce sum %[[M]]
  %0 = graph.reduce sum %h dims = [1] : (!h) -> !v
  return
}

// A mask along another dimension is none along this one.
// CHECK-LABEL: func.func @other_dimension
func.func @other_dimension(%b: tensor<5x5xf32, #dist.sharding<@mesh, [{"y"}, {"x"}]>>) {
  // CHECK: %[[O:.*]] = graph.mask_padding %arg0 dims = [0] value = 0.000000e+00
  // CHECK: %[[M:.*]] = graph.mask_padding %[[O]] dims = [1] value = 0.000000e+00
  // CHECK: graph.reduce sum %[[M]] dims = [1]
  %0 = graph.mask_padding %b dims = [0] value = 0.0 : tensor<5x5xf32, #dist.sharding<@mesh, [{"y"}, {"x"}]>>
  %1 = graph.reduce sum %0 dims = [1] : (tensor<5x5xf32, #dist.sharding<@mesh, [{"y"}, {"x"}]>>) -> tensor<5xf32, #dist.sharding<@mesh, [{"y"}], partial=sum{"x"}>>
  return
}

// CHECK-LABEL: func.func @max
func.func @max(%h: !h) {
  // CHECK: graph.mask_padding %arg0 dims = [1] value = 0xFFF0000000000000
  %0 = graph.reduce max %h dims = [1] : (!h) -> !m
  return
}

// The largest logit must not be a vocabulary entry that does not exist.
// CHECK-LABEL: func.func @arg_max
func.func @arg_max(%h: !h) {
  // CHECK: graph.mask_padding %arg0 dims = [1] value = 0xFFF0000000000000
  %0 = graph.arg_max_key %h : (!h) -> !k
  return
}

// A dimension that divides, or that is not reduced over, needs nothing.
// CHECK-LABEL: func.func @nothing
func.func @nothing(%e: !e, %h: !h) {
  // CHECK-NOT: mask_padding
  %0 = graph.reduce sum %e dims = [1] : (!e) -> !v
  %1 = graph.reduce sum %h dims = [0] : (!h) -> tensor<5xf32, #dist.sharding<@mesh, [{"x"}]>>
  return
}

// A product: the padding of a parameter is zero, also in a layer of a stack of them.
// CHECK-LABEL: func.func @parameter
func.func @parameter(%h: !h, %w: !w {graph.kind = #graph.kind<parameter>}, %s: !s {graph.kind = #graph.kind<parameter>}) {
  // CHECK-NOT: mask_padding
  %0 = graph.linear %h, %w contract = 1 : (!h, !w) -> !o
  %r = graph.repeat 7 carry(%h : !h) stack(%s : !s) -> (!h) {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %c: !h, %wi: !w):
    %1 = graph.linear %c, %wi contract = 1 : (!h, !w) -> !o
    graph.yield %c : !h
  }
  return
}

// Gathering layers brings no padding to the dimensions of a layer.
!s1 = tensor<8x5xf32, #dist.sharding<@mesh, [{"y"}, {"x"}]>>
!s2 = tensor<8x5xf32, #dist.sharding<@mesh, [{}, {"x"}]>>
!w1 = tensor<5xf32, #dist.sharding<@mesh, [{"x"}]>>
// CHECK-LABEL: func.func @gathered_layers
func.func @gathered_layers(%h: !h, %s: !s1 {graph.kind = #graph.kind<parameter>}) {
  // CHECK: dist.all_gather %arg1 dim = 0
  // CHECK: graph.repeat
  // CHECK-NOT: mask_padding
  // CHECK: return
  %all = dist.reshard %s : !s1 -> !s2
  %r = graph.repeat 8 carry(%h : !h) stack(%all : !s2) -> (!h) {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %c: !h, %wi: !w1):
    %1 = graph.reduce sum %wi dims = [0] : (!w1) -> tensor<f32, #dist.sharding<@mesh, [], partial=sum{"x"}>>
    graph.yield %c : !h
  }
  return
}

// What is gathered along the dimension has padding of its own: four over six ranks, two to each of three, leave the third with none. What callers give
// has what it has.
!four = tensor<4xf32, #dist.sharding<@mesh, [{"z", "y"}]>>
!third = tensor<4xf32, #dist.sharding<@mesh, [{"z"}]>>
// CHECK-LABEL: func.func @gathered
func.func @gathered(%w: !four {graph.kind = #graph.kind<parameter>}, %x: !third {graph.kind = #graph.kind<input>}) {
  // CHECK: %[[G:.*]] = dist.all_gather %arg0 dim = 0 axes = {"y"}
  // CHECK-NEXT: %[[M:.*]] = graph.mask_padding %[[G]]
  // CHECK-NEXT: graph.reduce sum %[[M]]
  // CHECK-NEXT: %[[N:.*]] = graph.mask_padding %arg1
  // CHECK-NEXT: graph.reduce sum %[[N]]
  %0 = dist.reshard %w : !four -> !third
  %1 = graph.reduce sum %0 dims = [0] : (!third) -> tensor<f32, #dist.sharding<@mesh, [], partial=sum{"z"}>>
  %2 = graph.reduce sum %x dims = [0] : (!third) -> tensor<f32, #dist.sharding<@mesh, [], partial=sum{"z"}>>
  return
}

// A product of activations: the smaller one is masked, and that is enough.
// CHECK-LABEL: func.func @product
func.func @product(%h: !h, %w: !w) {
  // CHECK: %[[M:.*]] = graph.mask_padding %arg1 dims = [1] value = 0.000000e+00
  // CHECK-NOT: mask_padding
  // CHECK: graph.linear %arg0, %[[M]]
  %0 = graph.linear %h, %w contract = 1 : (!h, !w) -> !o
  return
}

// Rows of a table that is a parameter: a rank gives zeros for what it does not have.
// CHECK-LABEL: func.func @table
func.func @table(%t: tensor<5x3xf32, #dist.sharding<@mesh, [{"x"}, {}]>> {graph.kind = #graph.kind<parameter>}, %i: tensor<4xi32, #dist.sharding<@mesh, [{}]>>) {
  // CHECK-NOT: mask_padding
  %0 = graph.embedding %t, %i : (tensor<5x3xf32, #dist.sharding<@mesh, [{"x"}, {}]>>, tensor<4xi32, #dist.sharding<@mesh, [{}]>>) -> !o
  return
}

// T18: what is masked so already is not masked again, whether the mask came with the op or before another reader. Other values, other dimensions are.
// CHECK-LABEL: func.func @masked
func.func @masked(%h: !h, %q: tensor<5x5xf32, #dist.sharding<@mesh, [{}, {"x"}]>>) {
  // CHECK: %[[LOW:.*]] = graph.mask_padding %arg0 dims = [1] value = 0xFFF0000000000000
  // CHECK-NEXT: graph.reduce max %[[LOW]]
  // CHECK-NEXT: %[[ZERO:.*]] = graph.mask_padding %[[LOW]] dims = [1] value = 0.000000e+00
  // CHECK-NEXT: graph.reduce sum %[[ZERO]]
  // CHECK-NEXT: %[[Q:.*]] = graph.mask_padding %arg1 dims = [1] value = 0.000000e+00
  // CHECK-NEXT: graph.reduce sum %[[Q]]
  // CHECK-NOT: mask_padding
  // CHECK: return
  %0 = graph.mask_padding %h dims = [1] value = 0xFFF0000000000000 : !h
  %1 = graph.reduce max %0 dims = [1] : (!h) -> !m
  %2 = graph.reduce sum %0 dims = [1] : (!h) -> !v
  %3 = graph.mask_padding %q dims = [1] value = 0.0 : tensor<5x5xf32, #dist.sharding<@mesh, [{}, {"x"}]>>
  %4 = graph.reduce sum %3 dims = [1] : (tensor<5x5xf32, #dist.sharding<@mesh, [{}, {"x"}]>>) -> tensor<5xf32, #dist.sharding<@mesh, [{}], partial=sum{"x"}>>
  // A product with what is masked with zeros.
  %5 = graph.linear %h, %3 contract = 1 : (!h, tensor<5x5xf32, #dist.sharding<@mesh, [{}, {"x"}]>>) -> tensor<4x5xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  return
}

// A few products of moderate numbers overflow f16: its padding may be infinite, that of bf16 and f32 is taken as finite.
// CHECK-LABEL: func.func @short
// CHECK: %[[F16:.*]] = graph.mul {{.*}}f16
// CHECK-NEXT: %[[M:.*]] = graph.mask_padding %[[F16]] dims = [1]
// CHECK-NEXT: graph.linear %[[M]], %arg1
// CHECK-NOT: mask_padding
// CHECK: return
func.func @short(%h: tensor<4x5xf16, #dist.sharding<@mesh, [{}, {"x"}]>>, %w: tensor<3x5xf16, #dist.sharding<@mesh, [{}, {"x"}]>> {graph.kind = #graph.kind<parameter>},
    %g: tensor<4x5xbf16, #dist.sharding<@mesh, [{}, {"x"}]>>, %v: tensor<3x5xbf16, #dist.sharding<@mesh, [{}, {"x"}]>> {graph.kind = #graph.kind<parameter>}, %f: !h, %u: !w {graph.kind = #graph.kind<parameter>}) {
  %0 = graph.mul %h, %h : (tensor<4x5xf16, #dist.sharding<@mesh, [{}, {"x"}]>>, tensor<4x5xf16, #dist.sharding<@mesh, [{}, {"x"}]>>) -> tensor<4x5xf16, #dist.sharding<@mesh, [{}, {"x"}]>>
  %1 = graph.linear %0, %w contract = 1 : (tensor<4x5xf16, #dist.sharding<@mesh, [{}, {"x"}]>>, tensor<3x5xf16, #dist.sharding<@mesh, [{}, {"x"}]>>) -> tensor<4x3xf16, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  %2 = graph.mul %g, %g : (tensor<4x5xbf16, #dist.sharding<@mesh, [{}, {"x"}]>>, tensor<4x5xbf16, #dist.sharding<@mesh, [{}, {"x"}]>>) -> tensor<4x5xbf16, #dist.sharding<@mesh, [{}, {"x"}]>>
  %3 = graph.linear %2, %v contract = 1 : (tensor<4x5xbf16, #dist.sharding<@mesh, [{}, {"x"}]>>, tensor<3x5xbf16, #dist.sharding<@mesh, [{}, {"x"}]>>) -> tensor<4x3xbf16, #dist.sharding<@mesh, [{}, {}], partial=sum{"x"}>>
  %4 = graph.mul %f, %f : (!h, !h) -> !h
  %5 = graph.linear %4, %u contract = 1 : (!h, !w) -> !o
  return
}

// Zero times what is not finite is not zero: the root of padding is masked although the weight's padding is zero. Not where the root is of a value without
// that dimension, nor where a mask or a fresh slice came after it; through a loop as well.
!h1 = tensor<4x1xf32, #dist.sharding<@mesh, [{}, {}]>>
!h5 = tensor<4x5xf32, #dist.sharding<@mesh, [{}, {}]>>
// CHECK-LABEL: func.func @roots
func.func @roots(%h: !h, %w: !w {graph.kind = #graph.kind<parameter>}, %v: !h1) {
  // CHECK: %[[R:.*]] = graph.rsqrt
  // CHECK-NEXT: %[[N:.*]] = graph.neg %[[R]]
  // CHECK-NEXT: %[[M:.*]] = graph.mask_padding %[[N]] dims = [1] value = 0.000000e+00
  // CHECK-NEXT: graph.linear %[[M]], %arg1
  %0 = graph.rsqrt %h : !h
  %1 = graph.neg %0 : !h
  %2 = graph.linear %1, %w contract = 1 : (!h, !w) -> !o
  // CHECK-NOT: mask_padding
  // CHECK: graph.repeat
  %3 = graph.rsqrt %v : !h1
  %4 = graph.mul %h, %3 : (!h, !h1) -> !h
  %5 = graph.linear %4, %w contract = 1 : (!h, !w) -> !o
  %6 = dist.reshard %0 : !h -> !h5
  %7 = dist.reshard %6 : !h5 -> !h
  %8 = graph.linear %7, %w contract = 1 : (!h, !w) -> !o
  %9 = graph.repeat 2 carry(%h : !h) -> (!h) {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %c: !h):
    %next = graph.sqrt %c : !h
    graph.yield %next : !h
  }
  // CHECK: %[[L:.*]] = graph.mask_padding %{{.*}} dims = [1] value = 0.000000e+00
  // CHECK-NEXT: graph.linear %[[L]], %arg1
  %10 = graph.linear %9, %w contract = 1 : (!h, !w) -> !o
  // CHECK-NEXT: %[[LOW:.*]] = graph.mask_padding %arg0 dims = [1] value = 0xFFF0000000000000
  // CHECK-NEXT: %[[ZERO:.*]] = graph.mask_padding %[[LOW]] dims = [1] value = 0.000000e+00
  // CHECK-NEXT: graph.linear %[[ZERO]], %arg1
  %11 = graph.mask_padding %h dims = [1] value = 0xFFF0000000000000 : !h
  %12 = graph.linear %11, %w contract = 1 : (!h, !w) -> !o
  return
}
