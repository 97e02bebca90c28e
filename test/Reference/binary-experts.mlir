// Ops by expert on the machine: rows and sums that fill several tiles and leave a rest, in mixed types, few tokens and many, more ids than experts; equal scores, zeros of
// either sign among them, of which the lowest wins.
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --target-options=cpu=x86-64
// RUN: llm-judge %s --rung=kernels --mesh=ep=2,tp=2
func.func @many(%x: tensor<1x43x70xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %scores: tensor<1x43x5xf32> {graph.kind = #graph.kind<input>, graph.name = "scores", graph.dims = ["batch", "seq", "expert"]},
    %up: tensor<5x37x70xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["expert", "ffn", "hidden"]},
    %down: tensor<5x70x37xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["expert", "hidden", "ffn"]})
    -> (tensor<1x43x70xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
  %s, %ids = graph.top_k %scores : (tensor<1x43x5xf32>) -> (tensor<1x43x2xf32>, tensor<1x43x2xi32>)
  %r = graph.dispatch %x, %ids : (tensor<1x43x70xf32>, tensor<1x43x2xi32>) -> tensor<1x43x5x70xf32>
  %h = graph.expert_linear %r, %up, %ids : (tensor<1x43x5x70xf32>, tensor<5x37x70xf32>, tensor<1x43x2xi32>) -> tensor<1x43x5x37xf32>
  %t = graph.tanh %h : tensor<1x43x5x37xf32>
  %d = graph.expert_linear %t, %down, %ids : (tensor<1x43x5x37xf32>, tensor<5x70x37xf32>, tensor<1x43x2xi32>) -> tensor<1x43x5x70xf32>
  %y = graph.combine %d, %ids, %s : (tensor<1x43x5x70xf32>, tensor<1x43x2xi32>, tensor<1x43x2xf32>) -> tensor<1x43x70xf32>
  return %y : tensor<1x43x70xf32>
}

func.func @one(%x: tensor<1x1x70xbf16> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %ids: tensor<1x1x6xi32> {graph.kind = #graph.kind<input>, graph.name = "ids", graph.dims = ["batch", "seq", "choice"]},
    %s: tensor<1x1x6xbf16> {graph.kind = #graph.kind<input>, graph.name = "shares", graph.dims = ["batch", "seq", "choice"]},
    %up: tensor<5x37x70xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["expert", "ffn", "hidden"]},
    %b: tensor<5x37xf32> {graph.kind = #graph.kind<parameter>, graph.name = "bias", graph.dims = ["expert", "ffn"]})
    -> (tensor<1x1x37xbf16> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<1x1x5x37xf32> {graph.kind = #graph.kind<output>, graph.name = "rows"}) {
  %r = graph.dispatch %x, %ids : (tensor<1x1x70xbf16>, tensor<1x1x6xi32>) -> tensor<1x1x5x70xbf16>
  %h = graph.expert_linear %r, %up, %ids : (tensor<1x1x5x70xbf16>, tensor<5x37x70xf32>, tensor<1x1x6xi32>) -> tensor<1x1x5x37xf32>
  %hb = graph.add %h, %b : (tensor<1x1x5x37xf32>, tensor<5x37xf32>) -> tensor<1x1x5x37xf32>
  %y = graph.combine %hb, %ids, %s : (tensor<1x1x5x37xf32>, tensor<1x1x6xi32>, tensor<1x1x6xbf16>) -> tensor<1x1x37xbf16>
  return %y, %h : tensor<1x1x37xbf16>, tensor<1x1x5x37xf32>
}

func.func @ties(%x: tensor<3x9xf32> {graph.kind = #graph.kind<input>, graph.name = "scores", graph.dims = ["batch", "expert"]})
    -> (tensor<3x4xi32> {graph.kind = #graph.kind<output>, graph.name = "all"}, tensor<3x4xi32> {graph.kind = #graph.kind<output>, graph.name = "some"},
        tensor<3x4xf32> {graph.kind = #graph.kind<output>, graph.name = "values"}) {
  %zero = graph.constant dense<0.0> : tensor<f32> : tensor<f32>
  %zeros = graph.mul %x, %zero : (tensor<3x9xf32>, tensor<f32>) -> tensor<3x9xf32>
  %v0, %i0 = graph.top_k %zeros : (tensor<3x9xf32>) -> (tensor<3x4xf32>, tensor<3x4xi32>)
  %whole = graph.cast %x : (tensor<3x9xf32>) -> tensor<3x9xi32>
  %steps = graph.cast %whole : (tensor<3x9xi32>) -> tensor<3x9xf32>
  %v1, %i1 = graph.top_k %steps : (tensor<3x9xf32>) -> (tensor<3x4xf32>, tensor<3x4xi32>)
  return %i0, %i1, %v1 : tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xf32>
}
