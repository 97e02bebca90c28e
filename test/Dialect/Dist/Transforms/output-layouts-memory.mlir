// An output that one function makes whole and another one reads whole stays in pieces where a third one lets it lie so: what it saves to hand it out whole is paid with memory.
// RUN: llm-opt %s --dist-annotate --dist-propagate --dist-insert-reshards --verify-rung=rung=sharded | FileCheck %s

dist.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @makes(
// CHECK: return %{{.*}} : tensor<8x512xf32, #dist.sharding<@mesh, [{"x"}, {}]>>, tensor<8x512xf32, #dist.sharding<@mesh, [{}, {}]>>
func.func @makes(%h: tensor<8x512xf32> {graph.kind = #graph.kind<input>, graph.name = "h", graph.dims = ["batch", "vocab"], dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<8x512xf32> {graph.kind = #graph.kind<output>, graph.name = "y", graph.dims = ["batch", "vocab"]},
        tensor<8x512xf32> {graph.kind = #graph.kind<output>, graph.name = "e", graph.dims = ["batch", "vocab"], dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = graph.relu %h : tensor<8x512xf32>
  %1 = graph.exp %0 : tensor<8x512xf32>
  return %0, %1 : tensor<8x512xf32>, tensor<8x512xf32>
}
// CHECK-LABEL: func.func @reads_whole(
// CHECK: dist.reshard {{.*}}[{"x"}, {}]>> -> tensor<8x512xf32, #dist.sharding<@mesh, [{}, {}]>>
func.func @reads_whole(%y: tensor<8x512xf32> {graph.kind = #graph.kind<input>, graph.name = "y", graph.dims = ["batch", "vocab"]})
    -> (tensor<8x512xf32> {graph.kind = #graph.kind<output>, graph.name = "z", graph.dims = ["batch", "vocab"], dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = dist.constraint %y <@mesh, [{}, {}]> : tensor<8x512xf32>
  %1 = graph.exp %0 : tensor<8x512xf32>
  return %1 : tensor<8x512xf32>
}
func.func @reads_pieces(%y: tensor<8x512xf32> {graph.kind = #graph.kind<input>, graph.name = "y", graph.dims = ["batch", "vocab"]},
                        %b: tensor<8x512xf32> {graph.kind = #graph.kind<input>, graph.name = "b", graph.dims = ["batch", "vocab"], dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x512xf32> {graph.kind = #graph.kind<output>, graph.name = "v", graph.dims = ["batch", "vocab"], dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = graph.add %y, %b : (tensor<8x512xf32>, tensor<8x512xf32>) -> tensor<8x512xf32>
  return %0 : tensor<8x512xf32>
}
