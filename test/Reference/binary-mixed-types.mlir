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

// float64 to 16 bits: no function of a library, and rounded once.
func.func @narrow(%x: tensor<3x5xf64>) -> (tensor<3x5xbf16>, tensor<3x5xf16>) {
  %0 = graph.cast %x : (tensor<3x5xf64>) -> tensor<3x5xbf16>
  %1 = graph.cast %x : (tensor<3x5xf64>) -> tensor<3x5xf16>
  return %0, %1 : tensor<3x5xbf16>, tensor<3x5xf16>
}

// Results without a name are each entry's own, on whatever mesh.
dist.mesh @mesh = <["x"=2]>
func.func @whole(%x: tensor<6xf32>) -> (tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %0 = graph.exp %x : tensor<6xf32>
  return %0 : tensor<6xf32>
}
func.func @split(%x: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> (tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %0 = graph.exp %x : tensor<6xf32>
  return %0 : tensor<6xf32>
}
