// Three rows of a batch over two ranks: the second one's last row is padding.
module {
  dist.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<3x2x1xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", ?}, {?}, {}]>, graph.kind = #graph.kind<input>, graph.name = "x0"}, %arg1: tensor<3x2xi32> {dist.sharding = #dist.sharding<@mesh, [{}, {?}]>, graph.kind = #graph.kind<input>, graph.name = "positions"}, %arg2: tensor<1x1x1xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w10"}, %arg3: tensor<2x3x2x1x1xf32> {graph.kind = #graph.kind<state>, graph.name = "cache12"}) -> (tensor<2x3x2x1x1xf32> {graph.kind = #graph.kind<state>, graph.name = "cache12"}) {
    %0 = graph.linear %arg0, %arg2 contract = 1 : (tensor<3x2x1xf32>, tensor<1x1x1xf32>) -> tensor<3x2x1x1xf32>
    %1 = graph.constant dense<1> : tensor<i32> : tensor<i32>
    %2 = graph.cache_update %arg3[%1], %0, %arg1 : (tensor<2x3x2x1x1xf32>, tensor<3x2x1x1xf32>, tensor<i32>, tensor<3x2xi32>) -> tensor<2x3x2x1x1xf32>
    return %2 : tensor<2x3x2x1x1xf32>
  }
}
