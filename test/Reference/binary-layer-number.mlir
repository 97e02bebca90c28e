// A loop's index is a value like others: carried, stacked, reshaped, in a period and its remainder, where an inner loop begins with it.
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --mesh=x=2 --shard=row=x
func.func @carried(%x: tensor<4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["row"]}) -> (tensor<i32>, tensor<5xi32>, tensor<4xf32>, tensor<5x1x1xi32>) {
  %z = graph.constant dense<3> : tensor<i32> : tensor<i32>
  %r:4 = graph.repeat 5 carry(%z, %x : tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>, tensor<5xi32>, tensor<5x1x1xi32>) {
  ^bb0(%i: tensor<i32>, %c: tensor<i32>, %h: tensor<4xf32>):
    %j = graph.reshape %i : (tensor<i32>) -> tensor<1x1xi32>
    %k = graph.reshape %i : (tensor<i32>) -> tensor<1xi32>
    %f = graph.cast %k : (tensor<1xi32>) -> tensor<1xf32>
    %g = graph.cast %c : (tensor<i32>) -> tensor<f32>
    %s = graph.add %f, %g : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
    %y = graph.add %h, %s : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
    graph.yield %i, %y, %i, %j : tensor<i32>, tensor<4xf32>, tensor<i32>, tensor<1x1xi32>
  }
  return %r#0, %r#2, %r#1, %r#3 : tensor<i32>, tensor<5xi32>, tensor<4xf32>, tensor<5x1x1xi32>
}
func.func @inner(%x: tensor<4xf32> {graph.kind = #graph.kind<input>, graph.name = "y"}) -> (tensor<4xf32>, tensor<5x3xi32>) {
  %r:2 = graph.repeat 5 reverse carry(%x : tensor<4xf32>) -> (tensor<4xf32>, tensor<5x3xi32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<4xf32>):
    %q:2 = graph.repeat 3 carry(%i : tensor<i32>) -> (tensor<i32>, tensor<3xi32>) {
    ^bb0(%j: tensor<i32>, %c: tensor<i32>):
      %s = graph.add %c, %j : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %t = graph.add %s, %i : (tensor<i32>, tensor<i32>) -> tensor<i32>
      graph.yield %t, %t : tensor<i32>, tensor<i32>
    }
    %f = graph.cast %q#0 : (tensor<i32>) -> tensor<f32>
    %y = graph.add %h, %f : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    graph.yield %y, %q#1 : tensor<4xf32>, tensor<3xi32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<5x3xi32>
}
