// Ids that name no expert, and those that a token names again, add nothing: also where five experts lie on two ranks, of which the second has a place for a sixth.
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --mesh=ep=2
func.func @f(%x: tensor<1x3x20xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %s: tensor<1x3x4xf32> {graph.kind = #graph.kind<input>, graph.name = "shares", graph.dims = ["batch", "seq", "choice"]},
    %up: tensor<5x11x20xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["expert", "ffn", "hidden"]},
    %b: tensor<5x11xf32> {graph.kind = #graph.kind<parameter>, graph.name = "bias", graph.dims = ["expert", "ffn"]})
    -> (tensor<1x3x11xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %ids = graph.constant dense<[[[4, 5, -1, 4], [2, 2, 0, 2], [5, 6, 1000000, -7]]]> : tensor<1x3x4xi32> : tensor<1x3x4xi32>
  %r = graph.dispatch %x, %ids : (tensor<1x3x20xf32>, tensor<1x3x4xi32>) -> tensor<1x3x5x20xf32>
  %h = graph.expert_linear %r, %up, %ids : (tensor<1x3x5x20xf32>, tensor<5x11x20xf32>, tensor<1x3x4xi32>) -> tensor<1x3x5x11xf32>
  %hb = graph.add %h, %b : (tensor<1x3x5x11xf32>, tensor<5x11xf32>) -> tensor<1x3x5x11xf32>
  // Of what padding holds, zeros, it makes ones.
  %e = graph.exp %hb : tensor<1x3x5x11xf32>
  %y = graph.combine %e, %ids, %s : (tensor<1x3x5x11xf32>, tensor<1x3x4xi32>, tensor<1x3x4xf32>) -> tensor<1x3x11xf32>
  return %y : tensor<1x3x11xf32>
}
