// A loop begins with two values that it sees in another shape, in another order than they were made: each carried value lies where the other
// one's first value was.
// RUN: llm-judge %s --rung=binary
func.func @f(%x: tensor<16xf32> {graph.kind = #graph.kind<input>, graph.name = "x"}, %w: tensor<16x16xf32> {graph.kind = #graph.kind<input>, graph.name = "w"}, %v: tensor<16x16xf32> {graph.kind = #graph.kind<input>, graph.name = "v"}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %t = graph.linear %x, %w contract = 1 : (tensor<16xf32>, tensor<16x16xf32>) -> tensor<16xf32>
  %u = graph.linear %x, %v contract = 1 : (tensor<16xf32>, tensor<16x16xf32>) -> tensor<16xf32>
  %i = graph.reshape %u : (tensor<16xf32>) -> tensor<4x4xf32>
  %j = graph.reshape %t : (tensor<16xf32>) -> tensor<4x4xf32>
  %r:2 = graph.repeat 3 carry(%i, %j : tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  ^bb0(%k: tensor<i32>, %p: tensor<4x4xf32>, %q: tensor<4x4xf32>):
    %a = graph.sin %p : tensor<4x4xf32>
    %b = graph.tanh %q : tensor<4x4xf32>
    graph.yield %a, %b : tensor<4x4xf32>, tensor<4x4xf32>
  }
  %y = graph.sin %r#0 : tensor<4x4xf32>
  %z = graph.tanh %r#1 : tensor<4x4xf32>
  return %y, %z : tensor<4x4xf32>, tensor<4x4xf32>
}
