// A sum over two axes, scattered over them along two dimensions, one after the other: after the first it is still a sum over the second.
// RUN: llm-judge %s --pipeline="tessera-shard"
dist.mesh @mesh = <["x"=2, "y"=2]>
func.func @two_scatters(%a: tensor<8x32xf32> {graph.kind = #graph.kind<input>, graph.name = "a", dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>},
    %b: tensor<16x32xf32> {graph.kind = #graph.kind<input>, graph.name = "b", dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>})
    -> (tensor<8x16xf32> {graph.kind = #graph.kind<output>, graph.name = "c", dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %c = graph.linear %a, %b contract = 1 : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  return %c : tensor<8x16xf32>
}
