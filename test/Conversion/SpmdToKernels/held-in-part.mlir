// A weight in blocks that some op takes a part of is expanded at load, and what is sent of it are elements: that is what explanations and placement
// reckon with, in every function that reads the weight. One that is read whole is reckoned in blocks.
// RUN: llm-opt %s --tessera-shard --spmd-to-kernels | FileCheck %s
// RUN: llm-opt %s --tessera-explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXPLAIN

dist.mesh @mesh = <["x"=2]>
// CHECK: graph.parameter @part
// CHECK-NOT: exec.held
// CHECK: graph.parameter @whole {{.*}}exec.held = ["Q8_0"]
graph.parameter @part : tensor<128x32xf32> from [#graph.source<"part", file = [128, 32]>] {graph.held = ["Q8_0"]}
graph.parameter @whole : tensor<128x32xf32> from [#graph.source<"whole", file = [128, 32]>] {graph.held = ["Q8_0"]}

// 16 rows of 32 floats go from one rank to the other. A rank holds 64 rows.
// CHECK: exec.collective grouped_send {{.*}} outs(%{{.*}} : tensor<32x32xf32>)
// EXPLAIN: collective 1 of 2 (slices): grouped_send
// EXPLAIN: the busiest rank sends or receives 2048 bytes
// EXPLAIN: collective 2 of 2 (gathers): all_gather
// 64 rows of a block of 34 bytes.
// EXPLAIN: each rank sends 2176 bytes
// EXPLAIN: step (slices): {{.*}}, 8192 weight bytes
// EXPLAIN: step (multiplies): {{.*}}, 8192 weight bytes
// EXPLAIN: step (gathers): {{.*}}, 2176 weight bytes
func.func @slices(%x: tensor<4x32xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
                  %w: tensor<128x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "part", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x64xf32> {graph.kind = #graph.kind<output>, graph.name = "a", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = graph.slice %w at [16, 0] : (tensor<128x32xf32>) -> tensor<64x32xf32>
  %1 = graph.linear %x, %0 contract = 1 : (tensor<4x32xf32>, tensor<64x32xf32>) -> tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}
func.func @multiplies(%x: tensor<4x32xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
                      %w: tensor<128x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "part", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x128xf32> {graph.kind = #graph.kind<output>, graph.name = "b", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = graph.linear %x, %w contract = 1 : (tensor<4x32xf32>, tensor<128x32xf32>) -> tensor<4x128xf32>
  return %0 : tensor<4x128xf32>
}
func.func @gathers(%x: tensor<256x32xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
                   %w: tensor<128x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "whole", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<256x128xf32> {graph.kind = #graph.kind<output>, graph.name = "c", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = graph.linear %x, %w contract = 1 : (tensor<256x32xf32>, tensor<128x32xf32>) -> tensor<256x128xf32>
  return %0 : tensor<256x128xf32>
}
