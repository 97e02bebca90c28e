// A sum in f16 that nearly cancels, its terms on three ranks: rounded once, when the sum is there, as on one device.
// RUN: llm-judge %s --rung=binary --seed=905
dist.mesh @mesh = <["x"=3]>
func.func @f(%x: tensor<6xf16> {graph.kind = #graph.kind<input>, graph.name = "x0"}, %unused: tensor<4x6x6xf16> {graph.kind = #graph.kind<parameter>, graph.name = "w3"},
    %w: tensor<6xf16> {dist.sharding = #dist.sharding<@mesh, [{"x", ?}]>, graph.kind = #graph.kind<parameter>, graph.name = "w5"}) -> tensor<f16> {
  %0 = graph.einsum "a,a->" %x, %w : (tensor<6xf16>, tensor<6xf16>) -> tensor<f16>
  return %0 : tensor<f16>
}
