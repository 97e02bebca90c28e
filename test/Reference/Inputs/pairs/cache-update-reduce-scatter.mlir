// A pair that random programs seldom hold; scripts/fuzz binary judges it too.
dist.mesh @mesh = <["x"=2]>
func.func @f(%a: tensor<2x3x64xf32> {graph.kind = #graph.kind<input>, graph.name = "a"}, %w: tensor<4x5x64xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"},
    %positions: tensor<2x3xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>},
    %cache: tensor<2x2x7x4x5xf32> {graph.kind = #graph.kind<state>, graph.name = "cache"})
    -> (tensor<2x2x7x4x5xf32> {graph.kind = #graph.kind<state>, graph.name = "cache"}) {
  %0 = dist.constraint %a <@mesh, [{}, {}, {"x"}]> : tensor<2x3x64xf32>
  %weight = dist.constraint %w <@mesh, [{}, {}, {"x"}]> : tensor<4x5x64xf32>
  %1 = graph.linear %0, %weight contract = 1 : (tensor<2x3x64xf32>, tensor<4x5x64xf32>) -> tensor<2x3x4x5xf32>
  %2 = dist.constraint %1 <@mesh, [{"x"}, {}, {}, {}]> : tensor<2x3x4x5xf32>
  %layer = graph.constant dense<1> : tensor<i32> : tensor<i32>
  %3 = graph.cache_update %cache[%layer], %2, %positions : (tensor<2x2x7x4x5xf32>, tensor<2x3x4x5xf32>, tensor<i32>, tensor<2x3xi32>) -> tensor<2x2x7x4x5xf32>
  return %3 : tensor<2x2x7x4x5xf32>
}
