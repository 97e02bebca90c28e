// How a weight is held follows from all its uses in the module: packed for products (and for lookups beside one), plain otherwise. Local
// shapes and shardings stay with the parameter for the manifest.
// RUN: llm-opt %s --split-input-file --spmd-to-kernels --verify-diagnostics | FileCheck %s

// CHECK: graph.parameter @tied {{.*}}exec.local = tensor<16x8xf32>, exec.pack = 1 : i64, exec.sharding = #dist.sharding<@mesh, [{"tp"}, {}], global=[31, 8]>
// CHECK: graph.parameter @table
// CHECK-NOT: exec.pack
// CHECK-LABEL: func.func @step
dist.mesh @mesh = <["tp"=2]>
graph.parameter @tied : tensor<31x8xf32> from [#graph.source<"t", file = [31, 8]>]
graph.parameter @table : tensor<16x8xf32> from [#graph.source<"p", file = [16, 8]>]
// CHECK-SAME: (%[[IDS:[a-z0-9]*]]: tensor<1x4xi32>
// CHECK-SAME: exec.sharding = #dist.sharding<@mesh, [{}, {}, {"tp"}], global=[1, 4, 31]>
// CHECK: %[[SHARD:.*]] = exec.group_index [#dist.axis_ref<"tp">]
// CHECK: exec.gather_packed @tied ins(%[[IDS]] : tensor<1x4xi32>) shard %[[SHARD]]
// CHECK: exec.collective all_reduce sum
// CHECK: exec.launch @embedding{{.*}} ins(%{{.*}}, %[[IDS]]
// CHECK: exec.matmul m = 4 n = 16 k = 8 ins({{.*}}) packed @tied outs
func.func @step(%ids: tensor<1x4xi32, #dist.sharding<@mesh, [{}, {}], global=[1, 4]>> {graph.kind = #graph.kind<input>, graph.name = "tokens"},
    %tied: tensor<16x8xf32, #dist.sharding<@mesh, [{"tp"}, {}], global=[31, 8]>> {graph.kind = #graph.kind<parameter>, graph.name = "tied"},
    %table: tensor<16x8xf32, #dist.sharding<@mesh, [{}, {}], global=[16, 8]>> {graph.kind = #graph.kind<parameter>, graph.name = "table"})
    -> (tensor<1x4x16xf32, #dist.sharding<@mesh, [{}, {}, {"tp"}], global=[1, 4, 31]>> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %0 = graph.embedding %tied, %ids : (tensor<16x8xf32, #dist.sharding<@mesh, [{"tp"}, {}], global=[31, 8]>>, tensor<1x4xi32, #dist.sharding<@mesh, [{}, {}], global=[1, 4]>>) -> tensor<1x4x8xf32, #dist.sharding<@mesh, [{}, {}, {}], partial=sum{"tp"}, global=[1, 4, 8]>>
  %1 = dist.all_reduce %0 axes = {"tp"} : tensor<1x4x8xf32, #dist.sharding<@mesh, [{}, {}, {}], partial=sum{"tp"}, global=[1, 4, 8]>> -> tensor<1x4x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1, 4, 8]>>
  %2 = graph.embedding %table, %ids : (tensor<16x8xf32, #dist.sharding<@mesh, [{}, {}], global=[16, 8]>>, tensor<1x4xi32, #dist.sharding<@mesh, [{}, {}], global=[1, 4]>>) -> tensor<1x4x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1, 4, 8]>>
  %3 = graph.add %1, %2 : (tensor<1x4x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1, 4, 8]>>, tensor<1x4x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1, 4, 8]>>) -> tensor<1x4x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1, 4, 8]>>
  %4 = graph.linear %3, %tied contract = 1 : (tensor<1x4x8xf32, #dist.sharding<@mesh, [{}, {}, {}], global=[1, 4, 8]>>, tensor<16x8xf32, #dist.sharding<@mesh, [{"tp"}, {}], global=[31, 8]>>) -> tensor<1x4x16xf32, #dist.sharding<@mesh, [{}, {}, {"tp"}], global=[1, 4, 31]>>
  return %4 : tensor<1x4x16xf32, #dist.sharding<@mesh, [{}, {}, {"tp"}], global=[1, 4, 31]>>
}

// -----

// A weight that is gathered at run time is no packed parameter: the product takes the gathered array.
// CHECK-LABEL: func.func @gathered
// CHECK: %[[W:.*]] = exec.param @w : tensor<4x8xf32>
// CHECK: %[[ALL:.*]] = exec.collective all_gather none over [#dist.axis_ref<"fsdp">] ins(%[[W]] : tensor<4x8xf32>) outs({{.*}} : tensor<8x8xf32>)
// CHECK: exec.matmul m = 2 n = 8 k = 8 ins(%{{.*}}, %[[ALL]] : tensor<2x8xf32>, tensor<8x8xf32>) outs
dist.mesh @mesh = <["fsdp"=2]>
graph.parameter @w : tensor<8x8xf32> from [#graph.source<"w", file = [8, 8]>]
func.func @gathered(%x: tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %w: tensor<4x8xf32, #dist.sharding<@mesh, [{"fsdp"}, {}], global=[8, 8]>> {graph.kind = #graph.kind<parameter>, graph.name = "w"})
    -> (tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.all_gather %w dim = 0 axes = {"fsdp"} : tensor<4x8xf32, #dist.sharding<@mesh, [{"fsdp"}, {}], global=[8, 8]>> -> tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 8]>>
  %1 = graph.linear %x, %0 contract = 1 : (tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>, tensor<8x8xf32, #dist.sharding<@mesh, [{}, {}], global=[8, 8]>>) -> tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>
  return %1 : tensor<2x8xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 8]>>
}

// -----

// expected-error @+1 {{argument 0 is a parameter, but no graph.parameter w says where it comes from}}
func.func @unknown(%w: tensor<8x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"}) -> (tensor<8x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.exp %w : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
