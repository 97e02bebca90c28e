// Values of one group have one sharding, in all functions, and lie so; where annotations clash readers read copies.
// RUN: split-file %s %t
// RUN: llm-opt %t/tied.mlir --dist-propagate | FileCheck %t/tied.mlir
// RUN: llm-opt %t/tied.mlir --dist-propagate --dist-insert-reshards --verify-rung=rung=sharded | FileCheck %t/tied.mlir --check-prefix=SHARDED
// RUN: llm-opt %t/clash.mlir --dist-propagate --verify-diagnostics | FileCheck %t/clash.mlir
// RUN: llm-opt %t/shapes.mlir --dist-propagate --verify-diagnostics
// RUN: llm-opt %t/manual.mlir --dist-propagate --verify-diagnostics

//--- tied.mlir
dist.mesh @mesh = <["x"=2, "y"=2]>

// SHARDED-NOT: dist.sharding_group

// Nothing but the group joins the two.
// CHECK-LABEL: func.func @first
// CHECK: graph.tanh {{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]}
func.func @first(%x: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", ?}, {?}]>}) -> tensor<8x8xf32> {
  %0 = graph.tanh %x : tensor<8x8xf32>
  %1 = dist.sharding_group %0 "h" : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
// CHECK-LABEL: func.func @second
// CHECK-SAME: %arg0: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}
// CHECK: dist.sharding_group {{.*}} "h" {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]}
func.func @second(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.tanh %x : tensor<8x8xf32>
  %1 = dist.sharding_group %0 "h" : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// A member lies as its group, whatever is near: the sum is one where the group says, not behind the silu's other operand.
// SHARDED-LABEL: func.func @lies_so
// SHARDED: %[[SUM:.*]] = graph.linear {{.*}} partial=sum{"y"}
// SHARDED: dist.reshard %[[SUM]] {{.*}}its group{{.*}} -> tensor<8x8xf32, #dist.sharding<@mesh, [{"x"}, {}]>>
// SHARDED: graph.add
func.func @lies_so(%x: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
                   %w: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.linear %x, %w contract = 1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = dist.sharding_group %0 "h" : tensor<8x8xf32>
  %2 = graph.add %1, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

//--- clash.mlir
// S10: the more important annotation is the first one.
dist.mesh @mesh = <["a"=2, "b"=2, "c"=2]>
// CHECK-LABEL: func.func @clash
// CHECK-SAME: %arg0: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{"a"}p0, {"c"}p0]>}
// CHECK-SAME: %arg1: {{[^{]*}}{dist.sharding = #dist.sharding<@mesh, [{"c", "a"}p1, {"b"}p1]>}
// CHECK: %[[X:.*]] = dist.sharding_group %arg0 "g" {dist.shardings = [#dist.sharding<@mesh, [{"a"}, {"c"}]>]}
// CHECK: %[[Y:.*]] = dist.sharding_group %arg1 "g" {dist.shardings = [#dist.sharding<@mesh, [{"a"}, {"c"}]>]}
// CHECK: graph.tanh %[[X]] {dist.shardings = [#dist.sharding<@mesh, [{"a"}, {"c"}]>]}
// CHECK: graph.tanh %[[Y]] {dist.shardings = [#dist.sharding<@mesh, [{"a"}, {"c"}]>]}
func.func @clash(%x: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a", ?}p0, {"c", ?}p0]>},
                 %y: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"c", "a", ?}p1, {"b", ?}p1]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // This one lies as the group does.
  %0 = dist.sharding_group %x "g" : tensor<8x8xf32>
  // expected-warning @+1 {{group 'g' has members that are annotated differently: this one keeps its annotation, and what reads it from here on reads a copy that lies [a/c]}}
  %1 = dist.sharding_group %y "g" : tensor<8x8xf32>
  // The value itself is read, behind: the copy is.
  %2 = graph.tanh %x : tensor<8x8xf32>
  %3 = graph.tanh %1 : tensor<8x8xf32>
  return %2, %3 : tensor<8x8xf32>, tensor<8x8xf32>
}

//--- shapes.mlir
dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<8x8xf32>, %y: tensor<8x4xf32>) -> (tensor<8x8xf32>, tensor<8x4xf32>) {
  // expected-error @+1 {{puts 'tensor<8x8xf32>' into group 'g', which has values of another shape; give it a group of its own}}
  %0 = dist.sharding_group %x "g" : tensor<8x8xf32>
  // expected-note @+1 {{another one is 'tensor<8x4xf32>'}}
  %1 = dist.sharding_group %y "g" : tensor<8x4xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x4xf32>
}

//--- manual.mlir
dist.mesh @mesh = <["x"=2, "y"=2]>
func.func @f(%x: tensor<8x8xf32>, %y: tensor<16x8xf32>) -> (tensor<8x8xf32>, tensor<16x8xf32>) {
  // expected-error @+1 {{under other manual axes}}
  %0 = dist.sharding_group %x "g" : tensor<8x8xf32>
  %1 = dist.manual_computation over {"x"} (%y : tensor<16x8xf32>) -> (tensor<16x8xf32>)
      in [#dist.sharding<@mesh, [{"x"}, {}]>] out [#dist.sharding<@mesh, [{"x"}, {}]>] {
  ^bb0(%p: tensor<8x8xf32>):
    // expected-note @+1 {{another one}}
    %2 = dist.sharding_group %p "g" : tensor<8x8xf32>
    dist.manual_yield %2 : tensor<8x8xf32>
  }
  return %0, %1 : tensor<8x8xf32>, tensor<16x8xf32>
}
