// An input comes as wide as the widest of its readers wants it, whatever their order.
// RUN: llm-opt %s --dist-widen-inputs | FileCheck %s

dist.mesh @mesh = <["x"=2, "y"=2]>
!xy = tensor<8x8xi32, #dist.sharding<@mesh, [{"x", "y"}, {}]>>
!x = tensor<8x8xi32, #dist.sharding<@mesh, [{"x"}, {}]>>
!w = tensor<8x8xi32, #dist.sharding<@mesh, [{}, {}]>>

// CHECK-LABEL: func.func @widest_last
// CHECK-SAME: %arg0: tensor<8x8xi32, #dist.sharding<@mesh, [{}, {}]>>
// CHECK: dist.reshard %arg0 {{.*}} -> tensor<8x8xi32, #dist.sharding<@mesh, [{"x"}, {}]>>
// CHECK: return %{{.*}}, %arg0
func.func @widest_last(%p: !xy {dist.widenable}) -> (!x, !w) {
  %0 = dist.reshard %p {why = "one"} : !xy -> !x
  %1 = dist.reshard %p {why = "other"} : !xy -> !w
  return %0, %1 : !x, !w
}

// CHECK-LABEL: func.func @widest_first
// CHECK-SAME: %arg0: tensor<8x8xi32, #dist.sharding<@mesh, [{}, {}]>>
// CHECK: dist.reshard %arg0 {{.*}} -> tensor<8x8xi32, #dist.sharding<@mesh, [{"x"}, {}]>>
// CHECK: return %arg0
func.func @widest_first(%p: !xy {dist.widenable}) -> (!w, !x) {
  %0 = dist.reshard %p {why = "one"} : !xy -> !w
  %1 = dist.reshard %p {why = "other"} : !xy -> !x
  return %0, %1 : !w, !x
}
