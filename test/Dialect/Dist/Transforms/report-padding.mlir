// Each dimension that does not divide is told, with what of a rank is padding: 3 rows over 2 ranks are 2 each, a quarter of them padding.
// RUN: llm-opt %s --dist-report-padding --remarks-filter=dist --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s --implicit-check-not='[Missed] padding'
// RUN: llm-opt %s --dist-report-padding -o /dev/null 2>&1 | count 0

// RUN: llm-opt %s --dist-report-padding | FileCheck %s --check-prefix=FLOPS
// FLOPS: func.func @f{{.*}}dist.padding_flops = array<i64: 4, 16>

dist.mesh @mesh = <["tp"=2]>

// The product, 2 x 4 x 2 operations, reads rows of the weight and writes as many; the gather sends them with their padding.
// CHECK: [Missed] padding {{.*}}rows over tp: from 3 to 4, 2 a rank (25.0 % padding); of each rank's 8 of 48 weight bytes (16.7 %), 2 of 20 activation bytes written (10.0 %), 2 of 8 collective bytes (25.0 %), 4 of 16 FLOPs (25.0 %) are padding
func.func @f(%w: tensor<2x4xf32, #dist.sharding<@mesh, [{"tp"}, {}], global=[3, 4]>> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["rows", "cols"]},
             %v: tensor<4x1xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 1]>> {graph.kind = #graph.kind<parameter>, graph.name = "v", graph.dims = ["cols", "one"]},
             %x: tensor<1x4xf32, #dist.sharding<@mesh, [{}, {}], global=[1, 4]>> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "cols"]})
    -> tensor<1x3xf32, #dist.sharding<@mesh, [{}, {}], global=[1, 3]>> {
  %0 = graph.linear %x, %w contract = 1 : (tensor<1x4xf32, #dist.sharding<@mesh, [{}, {}], global=[1, 4]>>, tensor<2x4xf32, #dist.sharding<@mesh, [{"tp"}, {}], global=[3, 4]>>) -> tensor<1x2xf32, #dist.sharding<@mesh, [{}, {"tp"}], global=[1, 3]>>
  %1 = dist.all_gather %0 dim = 1 axes = {"tp"} : tensor<1x2xf32, #dist.sharding<@mesh, [{}, {"tp"}], global=[1, 3]>> -> tensor<1x3xf32, #dist.sharding<@mesh, [{}, {}], global=[1, 3]>>
  return %1 : tensor<1x3xf32, #dist.sharding<@mesh, [{}, {}], global=[1, 3]>>
}
