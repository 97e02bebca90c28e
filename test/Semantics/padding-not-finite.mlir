// A norm over one element, split over two ranks, written out: the second rank takes a root of padding, which may be no number. The product behind it has a
// weight that is padded with zeros; zero times no number is not zero.
// RUN: llm-judge %s --entry=* --runs=20 --pipeline='tessera-shard' | FileCheck %s
// CHECK-NOT: TOO LARGE
// CHECK: relative error {{[0-9.]+(e-1[0-9])?$}}
dist.mesh @mesh = <["x"=2]>
func.func @g(%a: tensor<4x1xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w7", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<1xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", ?}]>, graph.kind = #graph.kind<parameter>, graph.name = "w12"},
    %c: tensor<1xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w13"},
    %d: tensor<1x1xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {"x"}p1]>, graph.kind = #graph.kind<parameter>, graph.name = "w15"}) -> tensor<4x1xf32> {
  %0 = graph.layer_norm %a, %b, %c eps = 1.000000e-02 : (tensor<4x1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %1 = graph.linear %0, %d contract = 1 : (tensor<4x1xf32>, tensor<1x1xf32>) -> tensor<4x1xf32>
  return %1 : tensor<4x1xf32>
}
