// Collectives over two nodes of two ranks are done within nodes and between them where the cost model says that this is faster. Numbers:
// test/Semantics/stage-collectives.test.
// RUN: llm-opt %s --split-input-file --dist-stage-collectives | FileCheck %s
// RUN: llm-opt %s --split-input-file --dist-stage-collectives -o /dev/null --remark-format=emitRemark --remarks-filter=dist 2>&1 | FileCheck %s --check-prefix=REMARK

!v = tensor<8x6xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 6]>>
!cut = tensor<2x6xf32, #dist.sharding<@mesh, [{"dp", "tp"}, {}], global=[8, 6]>>
!turned = tensor<2x6xf32, #dist.sharding<@mesh, [{"tp", "dp"}, {}], global=[8, 6]>>
!sum = tensor<8x6xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"dp", "tp"}, global=[8, 6]>>
!large = tensor<16x6xf32, #dist.sharding<@mesh, [{}, {}], global=[16, 6]>>
!largesum = tensor<16x6xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"dp", "tp"}, global=[16, 6]>>
!largemax = tensor<16x6xf32, #dist.sharding<@mesh, [{}, {}], partial=max{"dp", "tp"}, global=[16, 6]>>
!tp = tensor<4x6xf32, #dist.sharding<@mesh, [{"tp"}, {}], global=[8, 6]>>
!odd = tensor<7xf32, #dist.sharding<@mesh, [{}], global=[7]>>
!oddsum = tensor<7xf32, #dist.sharding<@mesh, [{}], partial=sum{"dp", "tp"}, global=[7]>>

module attributes {dist.machine = "{\"name\": \"pairs\", \"ranks_per_node\": 2, \"link\": {\"latency\": 1e-7, \"bandwidth\": 1e10}, \"between_nodes\": {\"latency\": 1e-6, \"bandwidth\": 1e9}}"} {
dist.mesh @mesh = <["dp"=2, "tp"=2]>

// Pieces go between nodes while they are small: all of them then lie in the dimension's digits.
// REMARK: all_gather over dp+tp on pairs: all_gather between nodes over dp, then all_gather within nodes over tp
// CHECK-LABEL: func.func @gather
func.func @gather(%a: !cut {graph.kind = #graph.kind<input>, graph.name = "a"}) -> !v {
  // CHECK: %[[SEEN:.*]] = graph.reshape %{{.*}} -> tensor<1x1x2x6xf32, #dist.sharding<@mesh, [{"dp"}, {"tp"}, {}, {}], global=[2, 2, 2, 6]>>
  // CHECK: %[[B:.*]] = dist.all_gather %[[SEEN]] dim = 0 axes = {"dp"} {why = "w"}
  // CHECK: dist.all_gather %[[B]] dim = 1 axes = {"tp"} {why = "w"}
  // CHECK-NOT: = dist.
  // CHECK: return
  %0 = dist.all_gather %a dim = 0 axes = {"dp", "tp"} {why = "w"} : !cut -> !v
  return %0 : !v
}

// Where nodes are the minor axis no other view is needed.
// CHECK-LABEL: func.func @turned
func.func @turned(%a: !turned {graph.kind = #graph.kind<input>, graph.name = "t"}) -> !v {
  // CHECK-NOT: graph.reshape
  // CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"dp"}
  // CHECK-NEXT: dist.all_gather %{{.*}} dim = 0 axes = {"tp"}
  // CHECK-NEXT: return
  %0 = dist.all_gather %a dim = 0 axes = {"tp", "dp"} : !turned -> !v
  return %0 : !v
}

// CHECK-LABEL: func.func @scatter
func.func @scatter(%a: !sum {graph.kind = #graph.kind<input>, graph.name = "s"}) -> !cut {
  // CHECK: dist.reduce_scatter %{{.*}} dim = 1 axes = {"tp"}
  // CHECK-NEXT: dist.reduce_scatter %{{.*}} dim = 0 axes = {"dp"}
  %0 = dist.reduce_scatter %a dim = 0 axes = {"dp", "tp"} : !sum -> !cut
  return %0 : !cut
}

// CHECK-LABEL: func.func @reduce
func.func @reduce(%a: !largesum {graph.kind = #graph.kind<input>, graph.name = "r"}) -> !large {
  // CHECK: dist.reduce_scatter %{{.*}} dim = 0 axes = {"tp"}
  // CHECK-NEXT: dist.all_reduce %{{.*}} axes = {"dp"}
  // CHECK-NEXT: dist.all_gather %{{.*}} dim = 0 axes = {"tp"}
  %0 = dist.all_reduce %a axes = {"dp", "tp"} : !largesum -> !large
  return %0 : !large
}

// CHECK-LABEL: func.func @maximum
func.func @maximum(%a: !largemax {graph.kind = #graph.kind<input>, graph.name = "m"}) -> !large {
  // CHECK: dist.reduce_scatter {{.*}}partial=max{"dp"}
  %0 = dist.all_reduce %a axes = {"dp", "tp"} : !largemax -> !large
  return %0 : !large
}

// Of little the bytes between nodes cost less than a third message.
// CHECK-LABEL: func.func @little
func.func @little(%a: !sum {graph.kind = #graph.kind<input>, graph.name = "l"}) -> !v {
  // CHECK: dist.all_reduce %{{.*}} axes = {"tp"}
  // CHECK-NEXT: dist.all_reduce %{{.*}} axes = {"dp"}
  %0 = dist.all_reduce %a axes = {"dp", "tp"} : !sum -> !v
  return %0 : !v
}

// Nothing cuts seven in two.
// CHECK-LABEL: func.func @odd
func.func @odd(%a: !oddsum {graph.kind = #graph.kind<input>, graph.name = "o"}) -> !odd {
  // CHECK: dist.all_reduce %{{.*}} axes = {"tp"}
  // CHECK-NEXT: dist.all_reduce %{{.*}} axes = {"dp"}
  %0 = dist.all_reduce %a axes = {"dp", "tp"} : !oddsum -> !odd
  return %0 : !odd
}

// A group that stays on a node has one tier.
// CHECK-LABEL: func.func @within
func.func @within(%a: !tp {graph.kind = #graph.kind<input>, graph.name = "w"}) -> !v {
  // CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"tp"}
  // CHECK-NEXT: return
  %0 = dist.all_gather %a dim = 0 axes = {"tp"} : !tp -> !v
  return %0 : !v
}
}

// -----

!v = tensor<8x6xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 6]>>
!cut = tensor<2x6xf32, #dist.sharding<@mesh, [{"dp", "tp"}, {}], global=[8, 6]>>

// A message between nodes costs no more than one within: two rounds are better than three steps.
module attributes {dist.machine = "{\"ranks_per_node\": 2, \"link\": {\"latency\": 1e-6, \"bandwidth\": 1e10}, \"between_nodes\": {\"latency\": 1e-6, \"bandwidth\": 1e10}}"} {
dist.mesh @mesh = <["dp"=2, "tp"=2]>
// CHECK-LABEL: func.func @flat
func.func @flat(%a: !cut) -> !v {
  // CHECK: dist.all_gather %{{.*}} dim = 0 axes = {"dp", "tp"}
  // CHECK-NEXT: return
  %0 = dist.all_gather %a dim = 0 axes = {"dp", "tp"} : !cut -> !v
  return %0 : !v
}
}
