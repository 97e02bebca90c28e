// Softmax of a value that is whole over x, its result split over x: the maxima are taken before slicing, and only the sums of what was computed from
// pieces travel. Same numbers where nothing divides, and where it lies over y before.
// RUN: llm-opt %s --pass-pipeline='builtin.module(tessera-shard)' | FileCheck %s
// RUN: llm-judge %s --entry=* --runs=5 --pipeline=tessera-shard | FileCheck %s --check-prefix=NUMBERS
// NUMBERS-NOT: TOO LARGE
// NUMBERS-COUNT-10: relative error {{[0-9.]+(e-1[0-9])?$}}

module attributes {dist.machine = "{\"flops\": 1e9, \"memory_bandwidth\": 1e12, \"link\": {\"latency\": 5e-7, \"bandwidth\": 1e10}}"} {
dist.mesh @mesh = <["x"=3, "y"=2]>

// CHECK-LABEL: @rows
// CHECK: graph.reduce max {{.*}} -> tensor<f32, #dist.sharding<@mesh, []>>
// CHECK-NOT: partial=max
// CHECK: dist.all_reduce {{.*}}partial=sum{"x"}
func.func @rows(%a: tensor<700xf32> {graph.kind = #graph.kind<input>, graph.name = "a", dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<700xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %0 = graph.softmax %a : tensor<700xf32>
  return %0 : tensor<700xf32>
}

// CHECK-LABEL: @both
func.func @both(%a: tensor<700xf32> {graph.kind = #graph.kind<input>, graph.name = "b", dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<700xf32> {dist.sharding = #dist.sharding<@mesh, [{"y", "x"}]>}) {
  %0 = graph.softmax %a : tensor<700xf32>
  return %0 : tensor<700xf32>
}
}
