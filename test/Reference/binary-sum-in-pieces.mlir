// Terms of a sum in bf16 that nearly cancels lie on seven ranks: they are added in float32 and rounded once.
// RUN: llm-judge %s --rung=binary --seed=898
// Padding of f16 that overflowed is kept out of sums: ids that nobody computed, cast to f16.
// RUN: llm-judge %s --rung=binary --seed=299
dist.mesh @mesh = <["x"=7]>
func.func @sum(%x: tensor<5x6xbf16> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>, graph.kind = #graph.kind<input>, graph.name = "x0"}) -> tensor<bf16> {
  %0 = graph.reduce sum %x dims = [0, 1] : (tensor<5x6xbf16>) -> tensor<bf16>
  return %0 : tensor<bf16>
}
func.func @ids(%x: tensor<8x5x9xf16> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}]>, graph.kind = #graph.kind<input>, graph.name = "x1"},
    %w: tensor<2x8x5xf16> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}]>, graph.kind = #graph.kind<parameter>, graph.name = "w"}) -> tensor<2xf16> {
  %0 = graph.arg_max_key %x : (tensor<8x5x9xf16>) -> tensor<8x5xi64>
  %1 = graph.arg_max_index %0 : (tensor<8x5xi64>) -> tensor<8x5xi32>
  %2 = graph.cast %1 : (tensor<8x5xi32>) -> tensor<8x5xf16>
  %3 = graph.sin %2 : tensor<8x5xf16>
  %4 = graph.linear %3, %w contract = 2 : (tensor<8x5xf16>, tensor<2x8x5xf16>) -> tensor<2xf16>
  return %4 : tensor<2xf16>
}
