// Ops whose operands differ in their element type, on the machine.
// RUN: llm-judge %s --rung=binary

// Queries in one type, the cache of keys and values in another.
func.func @attention(%q: tensor<2x5x2x3x4xbf16>, %k: tensor<2x7x2x4xf16>, %v: tensor<2x7x2x4xf16>,
    %p: tensor<2x5xi32> {graph.kind = #graph.kind<input>, graph.name = "positions"}) -> tensor<2x5x2x3x4xbf16> {
  %0 = graph.attention %q, %k, %v, %p scale = 0.5 : (tensor<2x5x2x3x4xbf16>, tensor<2x7x2x4xf16>, tensor<2x7x2x4xf16>, tensor<2x5xi32>) -> tensor<2x5x2x3x4xbf16>
  return %0 : tensor<2x5x2x3x4xbf16>
}
func.func @attention_over_f32(%q: tensor<1x1x2x2x40xf16>, %k: tensor<1x33x2x40xf32>, %v: tensor<1x33x2x40xf32>,
    %p: tensor<1x1xi32> {graph.kind = #graph.kind<input>, graph.name = "positions"}) -> tensor<1x1x2x2x40xf16> {
  %0 = graph.attention %q, %k, %v, %p scale = 0.5 : (tensor<1x1x2x2x40xf16>, tensor<1x33x2x40xf32>, tensor<1x33x2x40xf32>, tensor<1x1xi32>) -> tensor<1x1x2x2x40xf16>
  return %0 : tensor<1x1x2x2x40xf16>
}
