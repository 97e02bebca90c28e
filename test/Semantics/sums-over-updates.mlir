// A kernel makes two outputs of one row: one takes the place of what both are computed from, and is a sum, which begins with zeros. They must not stand there before all is read.
// RUN: llm-judge %s
// RUN: llm-judge %s --rung=binary
func.func @f(%a: tensor<1x4x5xf32> {graph.kind = #graph.kind<parameter>, graph.name = "a"},
             %b: tensor<1x4x5xf32> {graph.kind = #graph.kind<parameter>, graph.name = "b"},
             %s: tensor<2x1x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "s"}) -> tensor<1x4x5xf32> {
  %r:3 = graph.repeat 2 carry(%a, %b : tensor<1x4x5xf32>, tensor<1x4x5xf32>) stack(%s : tensor<2x1x4xf32>)
      -> (tensor<1x4x5xf32>, tensor<1x4x5xf32>, tensor<2x1x4x5xf32>) {
  ^bb0(%layer: tensor<i32>, %x: tensor<1x4x5xf32>, %y: tensor<1x4x5xf32>, %w: tensor<1x4xf32>):
    %sum = graph.add %y, %x : (tensor<1x4x5xf32>, tensor<1x4x5xf32>) -> tensor<1x4x5xf32>
    %scaled = graph.einsum "abc,ab->abc" %sum, %w : (tensor<1x4x5xf32>, tensor<1x4xf32>) -> tensor<1x4x5xf32>
    graph.yield %scaled, %sum, %y : tensor<1x4x5xf32>, tensor<1x4x5xf32>, tensor<1x4x5xf32>
  }
  return %r#0 : tensor<1x4x5xf32>
}
