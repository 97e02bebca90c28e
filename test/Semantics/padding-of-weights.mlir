// Which padding is known to be zero. Zeros of a parameter stay zeros as a layer of a stack, whatever its layers did; what a gather
// brings along the dimension is not known to be zero.
// RUN: llm-opt %s --pass-pipeline='builtin.module(tessera-shard)' | FileCheck %s
// RUN: llm-judge %s --entry=* --pipeline=tessera-shard | FileCheck %s --check-prefix=NUMBERS
// NUMBERS-COUNT-2: relative error {{[0-9.]+(e-1[0-9])?$}}
// NUMBERS-NOT: TOO LARGE

dist.mesh @mesh = <["x"=2, "y"=2]>

// A stack gathered over its layers: the slice's padding is the parameter's, no mask.
// CHECK-LABEL: @layers
// CHECK: dist.all_gather %{{.*}} dim = 0
// CHECK: graph.repeat
// CHECK-NOT: graph.mask_padding
// CHECK: graph.linear
func.func @layers(%x: tensor<2x5xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
                  %w: tensor<4x5xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
                  %s: tensor<2xf32> {graph.kind = #graph.kind<input>, graph.name = "s"})
    -> (tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %0 = graph.repeat 4 carry(%s : tensor<2xf32>) stack(%w : tensor<4x5xf32>) -> (tensor<2xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<2xf32>, %wi: tensor<5xf32>):
    %1 = graph.linear %x, %wi contract = 1 : (tensor<2x5xf32>, tensor<5xf32>) -> tensor<2xf32>
    %2 = graph.add %h, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    graph.yield %2 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// Gathered over y along the contracted dimension, still padded over x: a mask.
// CHECK-LABEL: @gathered
// CHECK: dist.all_gather %{{.*}} dim = 1
// CHECK: graph.mask_padding
// CHECK: graph.linear
func.func @gathered(%x: tensor<6x3xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>},
                    %w: tensor<2x3xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>})
    -> (tensor<6x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = graph.linear %x, %w contract = 1 : (tensor<6x3xf32>, tensor<2x3xf32>) -> tensor<6x2xf32>
  return %0 : tensor<6x2xf32>
}
