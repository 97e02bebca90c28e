// A pair that random programs seldom hold; scripts/fuzz binary judges it too.
dist.mesh @mesh = <["x"=6]>
func.func @f(%x: tensor<3x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}) -> (tensor<3x4xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %0 = graph.sin %x : tensor<3x4xf32>
  %1 = graph.exp %0 : tensor<3x4xf32>
  %2 = dist.constraint %1 <@mesh, [{"x"}, {}]> : tensor<3x4xf32>
  %3 = graph.log %2 : tensor<3x4xf32>
  %4 = dist.constraint %3 <@mesh, [{"x":(1)3}, {}]> : tensor<3x4xf32>
  return %4 : tensor<3x4xf32>
}
