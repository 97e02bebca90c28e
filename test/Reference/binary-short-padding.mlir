// Padding of f16 that overflows to infinity is kept out of sums, where zeros of the weight would make NaN of it.
// RUN: llm-judge %s --rung=binary
dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<7x5xf16> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>, graph.kind = #graph.kind<input>, graph.name = "x"},
    %w: tensor<2x7x5xf16> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}]>, graph.kind = #graph.kind<parameter>, graph.name = "w"}) -> tensor<2xf16> {
  %0 = graph.mul %x, %x : (tensor<7x5xf16>, tensor<7x5xf16>) -> tensor<7x5xf16>
  %1 = graph.mul %0, %0 : (tensor<7x5xf16>, tensor<7x5xf16>) -> tensor<7x5xf16>
  %2 = graph.mul %1, %1 : (tensor<7x5xf16>, tensor<7x5xf16>) -> tensor<7x5xf16>
  %3 = graph.linear %2, %w contract = 2 : (tensor<7x5xf16>, tensor<2x7x5xf16>) -> tensor<2xf16>
  return %3 : tensor<2xf16>
}
