// A pair that random programs seldom hold; scripts/fuzz binary judges it too.
dist.mesh @mesh = <["x"=2]>
func.func @f(%a: tensor<5x6xf32> {graph.kind = #graph.kind<input>, graph.name = "a"}, %w: tensor<8x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"},
    %scale: tensor<8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "scale"}, %shift: tensor<8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "shift"})
    -> (tensor<5x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = dist.constraint %a <@mesh, [{}, {"x"}]> : tensor<5x6xf32>
  %1 = graph.linear %0, %w contract = 1 : (tensor<5x6xf32>, tensor<8x6xf32>) -> tensor<5x8xf32>
  %2 = dist.constraint %1 <@mesh, [{"x"}, {}]> : tensor<5x8xf32>
  %3 = graph.layer_norm %2, %scale, %shift eps = 1.0e-5 : (tensor<5x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<5x8xf32>
  return %3 : tensor<5x8xf32>
}
