// RUN: llm-opt %s --dist-choose-saved="bytes=4096 keep=true" | FileCheck %s --check-prefix=KEPT
// RUN: llm-opt %s --dist-choose-saved="bytes=4095 keep=true" | FileCheck %s --check-prefix=AGAIN
// RUN: llm-opt %s --dist-choose-saved=bytes=4096 --remarks-filter=dist --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A weight that backward gathers as forward did may be kept: a stack of whole layers. What else is saved stays as it is, and does not count.
// KEPT: graph.repeat 4 carry({{.*}}attributes {graph.saved = ["h", "up"]}
// KEPT: %[[W:.*]] = dist.all_gather
// KEPT: graph.yield %{{.*}}, %{{.*}}, %[[W]]
// KEPT: graph.repeat 4 reverse
// KEPT: ^bb0(%{{.*}}: tensor<i32,{{.*}}, %[[KEPT:.*]]: tensor<32x8xf32, #dist.sharding<@mesh, [{}, {}], global=[32, 8]>>):
// KEPT-NOT: dist.all_gather
// KEPT: graph.linear %{{.*}}, %[[KEPT]]
// AGAIN: graph.repeat 4 carry({{.*}}attributes {graph.saved = ["h"]}
// AGAIN: graph.repeat 4 reverse
// AGAIN: dist.all_gather
// REMARK: memory {{.*}}that forward saves: {{.*}}; made again: gathered up
dist.mesh @mesh = <["fsdp"=2]>
func.func @step(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>,
    %u: tensor<4x16x8xf32, #dist.sharding<@mesh, [{}, {"fsdp"}, {}], global=[4, 32, 8]>> {graph.kind = #graph.kind<parameter>, graph.name = "up"})
    -> tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>> {
  %f:2 = graph.repeat 4 carry(%x : tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>)
      stack(%u : tensor<4x16x8xf32, #dist.sharding<@mesh, [{}, {"fsdp"}, {}], global=[4, 32, 8]>>)
      -> (tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>, tensor<4x2x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[4, 2, 8]>>) attributes {graph.saved = ["h"]} {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %h: tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>, %ui: tensor<16x8xf32, #dist.sharding<@mesh, [{"fsdp"}, {}], global=[32, 8]>>):
    %w = dist.all_gather %ui dim = 0 axes = {"fsdp"} {why = "forward"} : tensor<16x8xf32, #dist.sharding<@mesh, [{"fsdp"}, {}], global=[32, 8]>> -> tensor<32x8xf32, #dist.sharding<@mesh, [{}, {}], global=[32, 8]>>
    %y = graph.linear %h, %w contract = 1 : (tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>, tensor<32x8xf32, #dist.sharding<@mesh, [{}, {}], global=[32, 8]>>) -> tensor<2x32xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 32]>>
    %z = graph.slice %y at [0, 0] : (tensor<2x32xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 32]>>) -> tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>
    graph.yield %z, %h : tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>, tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>
  }
  %b = graph.repeat 4 reverse carry(%f#0 : tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>)
      stack(%f#1, %u : tensor<4x2x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[4, 2, 8]>>, tensor<4x16x8xf32, #dist.sharding<@mesh, [{}, {"fsdp"}, {}], global=[4, 32, 8]>>)
      -> (tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>) {
  ^bb0(%i: tensor<i32, #dist.sharding<@mesh, []>>, %g: tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>, %h: tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>, %ui: tensor<16x8xf32, #dist.sharding<@mesh, [{"fsdp"}, {}], global=[32, 8]>>):
    %w = dist.all_gather %ui dim = 0 axes = {"fsdp"} {why = "backward"} : tensor<16x8xf32, #dist.sharding<@mesh, [{"fsdp"}, {}], global=[32, 8]>> -> tensor<32x8xf32, #dist.sharding<@mesh, [{}, {}], global=[32, 8]>>
    %p = graph.add %g, %h : (tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>, tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>) -> tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>
    %q = graph.linear %p, %w contract = 1 : (tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>, tensor<32x8xf32, #dist.sharding<@mesh, [{}, {}], global=[32, 8]>>) -> tensor<2x32xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 32]>>
    %d = graph.slice %q at [0, 0] : (tensor<2x32xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 32]>>) -> tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>
    graph.yield %d : tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>
  }
  return %b : tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>
}
