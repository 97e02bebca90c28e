// An output that nobody asked anything of lies as it is made where its maximum is taken before: keys travel in place of the product. One that the program
// annotates, or whose input in another function it does, stays where that says.
// RUN: llm-opt %s --dist-annotate --dist-propagate --dist-insert-reshards --verify-rung=rung=sharded | FileCheck %s --implicit-check-not=dist.unasked

dist.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @free(
// CHECK-NOT: dist.reshard {{.*}}tensor<8x512xf32
// CHECK: return %{{.*}} : tensor<8x512xf32, #dist.sharding<@mesh, [{}, {"x"}]>>
func.func @free(%h: tensor<8x64xf32> {graph.kind = #graph.kind<input>, graph.name = "h", graph.dims = ["batch", "hidden"], dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
                %w: tensor<512x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["vocab", "hidden"], dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x512xf32> {graph.kind = #graph.kind<output>, graph.name = "free", graph.dims = ["batch", "vocab"]},
        tensor<8xf32> {graph.kind = #graph.kind<output>, graph.name = "largest", graph.dims = ["batch"]}) {
  %0 = graph.linear %h, %w contract = 1 : (tensor<8x64xf32>, tensor<512x64xf32>) -> tensor<8x512xf32>
  %1 = graph.reduce max %0 dims = [1] : (tensor<8x512xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8x512xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @asked(
// CHECK: return %{{.*}} : tensor<8x512xf32, #dist.sharding<@mesh, [{"x"}, {}]>>
func.func @asked(%h: tensor<8x64xf32> {graph.kind = #graph.kind<input>, graph.name = "h", graph.dims = ["batch", "hidden"], dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
                 %w: tensor<512x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["vocab", "hidden"], dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x512xf32> {graph.kind = #graph.kind<output>, graph.name = "asked", graph.dims = ["batch", "vocab"]},
        tensor<8xf32> {graph.kind = #graph.kind<output>, graph.name = "largest", graph.dims = ["batch"]}) {
  %0 = graph.linear %h, %w contract = 1 : (tensor<8x64xf32>, tensor<512x64xf32>) -> tensor<8x512xf32>
  %1 = graph.reduce max %0 dims = [1] : (tensor<8x512xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8x512xf32>, tensor<8xf32>
}
// CHECK-LABEL: func.func @reads(
func.func @reads(%a: tensor<8x512xf32> {graph.kind = #graph.kind<input>, graph.name = "asked", graph.dims = ["batch", "vocab"], dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x512xf32> {graph.kind = #graph.kind<output>, graph.name = "read", graph.dims = ["batch", "vocab"]}) {
  %0 = graph.exp %a : tensor<8x512xf32>
  return %0 : tensor<8x512xf32>
}

// Of two outputs the first is free, and is made where that sends least: inputs travel, not the weight. The other one's place is asked for, and none of its business.
// CHECK-LABEL: func.func @mixed(
// CHECK: return %{{.*}} : tensor<56x64xf32, #dist.sharding<@mesh, [{}, {"x"}]>>, tensor<56x64xf32, #dist.sharding<@mesh, [{"x"}, {}]>>
func.func @mixed(%h: tensor<56x64xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "hidden"], dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
                 %w: tensor<64x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "u", graph.dims = ["vocab", "hidden"], dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<56x64xf32> {graph.kind = #graph.kind<output>, graph.name = "first", graph.dims = ["batch", "vocab"]},
        tensor<56x64xf32> {graph.kind = #graph.kind<output>, graph.name = "second", graph.dims = ["batch", "hidden"], dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = graph.linear %h, %w contract = 1 : (tensor<56x64xf32>, tensor<64x64xf32>) -> tensor<56x64xf32>
  %1 = graph.exp %h : tensor<56x64xf32>
  return %0, %1 : tensor<56x64xf32>, tensor<56x64xf32>
}
