// A model in which most things happen that stages can trip over: two kinds of layers in turn, which ask for their number and may drop elements; a table that the first
// stage looks up, the last one multiplies by, and layers read a sum of, which travels; a weight of the loss's end alone.
graph.parameter @table : tensor<11x6xf32> from [#graph.source<"table", file = [11, 6]>]
graph.parameter @w : tensor<5x6x6xf32> stacked from [#graph.source<"layers.{}.w", file = [6, 6]>]
graph.parameter @scale : tensor<5x6xf32> stacked from [#graph.source<"layers.{}.scale", file = [6]>]
graph.parameter @last : tensor<6xf32> from [#graph.source<"last", file = [6]>]
func.func @forward(%tokens: tensor<5x12xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"], graph.fill = #graph.fill<token_ids>},
    %positions: tensor<5x12xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"], graph.fill = #graph.fill<positions>},
    %table: tensor<11x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "hidden"]},
    %w: tensor<5x6x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["layer", "out", "hidden"]},
    %scale: tensor<5x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "scale", graph.dims = ["layer", "hidden"]},
    %last: tensor<6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "last", graph.dims = ["hidden"]})
    -> (tensor<5x12x11xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %looked_up = graph.embedding %table, %tokens : (tensor<11x6xf32>, tensor<5x12xi32>) -> tensor<5x12x6xf32>
  %x = graph.name %looked_up "embedded" ["batch", "seq", "hidden"] drops : tensor<5x12x6xf32>
  %mean = graph.reduce sum %table dims = [0] : (tensor<11x6xf32>) -> tensor<6xf32>
  %float = graph.cast %positions : (tensor<5x12xi32>) -> tensor<5x12xf32>
  %place = graph.reshape %float : (tensor<5x12xf32>) -> tensor<5x12x1xf32>
  %y = graph.repeat 5 carry(%x : tensor<5x12x6xf32>) stack(%w, %scale : tensor<5x6x6xf32>, tensor<5x6xf32>) -> (tensor<5x12x6xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<5x12x6xf32>, %wi: tensor<6x6xf32>, %si: tensor<6xf32>):
    %number = graph.cast %i : (tensor<i32>) -> tensor<f32>
    %a = graph.mul %h, %si : (tensor<5x12x6xf32>, tensor<6xf32>) -> tensor<5x12x6xf32>
    %b = graph.mul %a, %number : (tensor<5x12x6xf32>, tensor<f32>) -> tensor<5x12x6xf32>
    %p = graph.linear %b, %wi contract = 1 : (tensor<5x12x6xf32>, tensor<6x6xf32>) -> tensor<5x12x6xf32>
    %q = graph.name %p inner "product" ["batch", "seq", "hidden"] drops : tensor<5x12x6xf32>
    %r = graph.add %h, %q : (tensor<5x12x6xf32>, tensor<5x12x6xf32>) -> tensor<5x12x6xf32>
    %s = graph.name %r "residual" ["batch", "seq", "hidden"] : tensor<5x12x6xf32>
    graph.yield %s : tensor<5x12x6xf32>
  }, {
  ^bb0(%i: tensor<i32>, %h: tensor<5x12x6xf32>, %wi: tensor<6x6xf32>, %si: tensor<6xf32>):
    %p = graph.linear %h, %wi contract = 1 : (tensor<5x12x6xf32>, tensor<6x6xf32>) -> tensor<5x12x6xf32>
    %t = graph.tanh %p : tensor<5x12x6xf32>
    %u = graph.name %t inner "gate" ["batch", "seq", "hidden"] drops : tensor<5x12x6xf32>
    %v = graph.mul %u, %mean : (tensor<5x12x6xf32>, tensor<6xf32>) -> tensor<5x12x6xf32>
    %c = graph.mul %v, %si : (tensor<5x12x6xf32>, tensor<6xf32>) -> tensor<5x12x6xf32>
    %d = graph.mul %c, %place : (tensor<5x12x6xf32>, tensor<5x12x1xf32>) -> tensor<5x12x6xf32>
    %e = graph.add %h, %d : (tensor<5x12x6xf32>, tensor<5x12x6xf32>) -> tensor<5x12x6xf32>
    %s = graph.name %e "residual" ["batch", "seq", "hidden"] : tensor<5x12x6xf32>
    graph.yield %s : tensor<5x12x6xf32>
  }
  %z = graph.mul %y, %last : (tensor<5x12x6xf32>, tensor<6xf32>) -> tensor<5x12x6xf32>
  %logits = graph.linear %z, %table contract = 1 : (tensor<5x12x6xf32>, tensor<11x6xf32>) -> tensor<5x12x11xf32>
  return %logits : tensor<5x12x11xf32>
}
