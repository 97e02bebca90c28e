// Scale and bias of a layer norm are summed up together or not at all: with the bias open and the scale whole, one rank alone adds the product.
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=x=4 shard=t:rows=x}"
func.func @open_bias(%x: tensor<1x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
    %t: tensor<16x8xf32> {graph.kind = #graph.kind<input>, graph.name = "t", graph.dims = ["rows", "cols"]},
    %g: tensor<8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "scale"}) -> (tensor<1xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %b = graph.reduce sum %t dims = [0] : (tensor<16x8xf32>) -> tensor<8xf32>
  %n = graph.layer_norm %x, %g, %b eps = 1.000000e-05 : (tensor<1x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8xf32>
  %y = graph.reduce sum %n dims = [1] : (tensor<1x8xf32>) -> tensor<1xf32>
  return %y : tensor<1xf32>
}
