// Same numbers after sharding: one position of each sequence, of 17 over axes that do not divide them, floats and integers, some outside.
// RUN: llm-judge %s --pipeline="tessera-shard{}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=5}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=7}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,sp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=5,tp=3 shard=hidden=tp}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=32}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=4 shard=seq=a:(2)2}"
func.func @last(%x: tensor<3x17x7xf32> {graph.kind = #graph.kind<input>, graph.name = "hidden", graph.dims = ["batch", "seq", "hidden"]},
    %p: tensor<3x17xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %i: tensor<3xi32> {graph.kind = #graph.kind<input>, graph.name = "place", graph.dims = ["batch"]},
    %w: tensor<11x7xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["vocab", "hidden"]})
    -> (tensor<3x1x11xf32> {graph.kind = #graph.kind<output>, graph.name = "row"}, tensor<3x1xi32> {graph.kind = #graph.kind<output>, graph.name = "position"},
        tensor<3x1x7xf32> {graph.kind = #graph.kind<output>, graph.name = "outside"}) {
  // Drawn below 8: places up to 14, then from 13 to 20, where only the first four exist.
  %twice = graph.add %i, %i : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  %0 = graph.take %x, %twice : (tensor<3x17x7xf32>, tensor<3xi32>) -> tensor<3x1x7xf32>
  %1 = graph.linear %0, %w contract = 1 : (tensor<3x1x7xf32>, tensor<11x7xf32>) -> tensor<3x1x11xf32>
  %2 = graph.take %p, %twice : (tensor<3x17xi32>, tensor<3xi32>) -> tensor<3x1xi32>
  %c = graph.constant dense<13> : tensor<i32> : tensor<i32>
  %3 = graph.add %i, %c : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  // Padding of the last shard lies here, and what exp makes of it is not zero.
  %4 = graph.exp %x : tensor<3x17x7xf32>
  %5 = graph.take %4, %3 : (tensor<3x17x7xf32>, tensor<3xi32>) -> tensor<3x1x7xf32>
  return %1, %2, %5 : tensor<3x1x11xf32>, tensor<3x1xi32>, tensor<3x1x7xf32>
}
