// Annotations spread along rules, through region ops, and across functions.
// RUN: llm-opt %s --dist-propagate | FileCheck %s

dist.mesh @mesh = <["dp"=2, "tp"=4]>

// Forward through a product, backward from the result's annotation.
// CHECK-LABEL: func.func @both_ways
// CHECK-SAME: %arg1: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>}
// CHECK-SAME: -> (tensor<4x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>})
func.func @both_ways(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>}, %w: tensor<16x8xf32>)
    -> (tensor<4x16xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {"tp"}]>}) {
  // CHECK: graph.linear {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"dp"}, {"tp"}]>]}
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// A closed constraint is a pin.
// CHECK-LABEL: func.func @pin
func.func @pin(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>}) -> tensor<4x8xf32> {
  // CHECK: dist.constraint {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"tp"}, {}]>]}
  %0 = dist.constraint %x <@mesh, [{"tp"}, {}]> : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// Into a loop by the initial value, into its slices by the stack, out by the result; n stays whole.
// CHECK-LABEL: func.func @loop
// CHECK-SAME: -> (tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>})
func.func @loop(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {?}]>},
                %s: tensor<3x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4x8xf32> {
  // CHECK: graph.repeat {{.*}}dist.block_shardings = {{\[}}[#dist.sharding<@mesh, []>, #dist.sharding<@mesh, [{"dp"}, {"tp"}]>, #dist.sharding<@mesh, [{"tp"}]>]]
  %r = graph.repeat 3 carry(%x : tensor<4x8xf32>) stack(%s : tensor<3x8xf32>) -> (tensor<4x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<4x8xf32>, %w: tensor<8xf32>):
    // CHECK: graph.mul {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"dp"}, {"tp"}]>]}
    %y = graph.mul %h, %w : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    graph.yield %y : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

// One cache, one layout: in prefill the new keys tell how it lies, decode follows.
// CHECK-LABEL: func.func @prefill
// CHECK-SAME: %arg0: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"tp"}, {}]>
func.func @prefill(%c: tensor<2x1x8x4x8xf32> {graph.name = "k"}, %k: tensor<1x8x4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"tp"}, {}]>},
                   %i: tensor<i32>, %p: tensor<1x8xi32>) -> (tensor<2x1x8x4x8xf32> {graph.name = "k"}) {
  %0 = graph.cache_update %c[%i], %k, %p : (tensor<2x1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<i32>, tensor<1x8xi32>) -> tensor<2x1x8x4x8xf32>
  return %0 : tensor<2x1x8x4x8xf32>
}
// CHECK-LABEL: func.func @decode
// CHECK-SAME: %arg0: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"tp"}, {}]>
// CHECK-SAME: -> (tensor<2x1x8x4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"tp"}, {}]>
func.func @decode(%c: tensor<2x1x8x4x8xf32> {graph.name = "k"}) -> (tensor<2x1x8x4x8xf32> {graph.name = "k"}) {
  return %c : tensor<2x1x8x4x8xf32>
}

// The batch comes first, the weight's own sharding (priority 1) takes what is left.
// CHECK-LABEL: func.func @priorities
// CHECK-SAME: -> (tensor<4x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
func.func @priorities(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {?}]>},
                      %w: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}p1, {}]>}) -> tensor<4x16xf32> {
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
