// A state that an entry takes and does not return is the same in the next call: an update of it works on a copy.
// RUN: llm-judge %s --rung=binary

func.func @peek(%c: tensor<2x1x8x2x4xf32> {graph.kind = #graph.kind<state>, graph.name = "c"}, %i: tensor<1x2x2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "i"},
    %p: tensor<1x2xi32> {graph.kind = #graph.kind<input>, graph.name = "p"}) -> (tensor<2x1x8x2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "b"}) {
  %z = graph.constant dense<0> : tensor<i32> : tensor<i32>
  %0 = graph.cache_update %c[%z], %i, %p : (tensor<2x1x8x2x4xf32>, tensor<1x2x2x4xf32>, tensor<i32>, tensor<1x2xi32>) -> tensor<2x1x8x2x4xf32>
  %1 = graph.add %0, %0 : (tensor<2x1x8x2x4xf32>, tensor<2x1x8x2x4xf32>) -> tensor<2x1x8x2x4xf32>
  return %1 : tensor<2x1x8x2x4xf32>
}
