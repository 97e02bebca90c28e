// Backward of experts on the machine: rows, sums and columns that fill several tiles and leave a rest, in mixed types; few tokens and many, some that nobody takes.
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --target-options=cpu=x86-64
// RUN: llm-judge %s --rung=kernels --mesh=ep=2,tp=2
func.func @many(%x: tensor<1x43x59xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %ids: tensor<1x43x2xi32> {graph.kind = #graph.kind<input>, graph.name = "choices", graph.dims = ["batch", "seq", "choice"]},
    %shares: tensor<1x43x2xf32> {graph.kind = #graph.kind<input>, graph.name = "shares", graph.dims = ["batch", "seq", "choice"]},
    %dy: tensor<1x43x59xf32> {graph.kind = #graph.kind<input>, graph.name = "dy", graph.dims = ["batch", "seq", "hidden"]},
    %up: tensor<5x37x59xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["expert", "ffn", "hidden"]},
    %down: tensor<5x59x37xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["expert", "hidden", "ffn"]})
    -> (tensor<1x43x59xf32> {graph.kind = #graph.kind<output>, graph.name = "dx"}, tensor<1x43x2xf32> {graph.kind = #graph.kind<output>, graph.name = "dshares"},
        tensor<5x37x59xf32> {graph.kind = #graph.kind<output>, graph.name = "dup"}, tensor<5x59x37xf32> {graph.kind = #graph.kind<output>, graph.name = "ddown"}) {
  %r = graph.dispatch %x, %ids : (tensor<1x43x59xf32>, tensor<1x43x2xi32>) -> tensor<1x43x5x59xf32>
  %h = graph.expert_linear %r, %up, %ids : (tensor<1x43x5x59xf32>, tensor<5x37x59xf32>, tensor<1x43x2xi32>) -> tensor<1x43x5x37xf32>
  %t = graph.tanh %h : tensor<1x43x5x37xf32>
  %d = graph.expert_linear %t, %down, %ids : (tensor<1x43x5x37xf32>, tensor<5x59x37xf32>, tensor<1x43x2xi32>) -> tensor<1x43x5x59xf32>
  // Backward of the sum of the rows of %d, weighed with the shares.
  %dd = graph.dispatch %dy, %ids weights %shares : (tensor<1x43x59xf32>, tensor<1x43x2xi32>, tensor<1x43x2xf32>) -> tensor<1x43x5x59xf32>
  %dshares = graph.chosen_dot %dy, %d, %ids : (tensor<1x43x59xf32>, tensor<1x43x5x59xf32>, tensor<1x43x2xi32>) -> tensor<1x43x2xf32>
  %dt = graph.expert_linear %dd, %down transposed, %ids : (tensor<1x43x5x59xf32>, tensor<5x59x37xf32>, tensor<1x43x2xi32>) -> tensor<1x43x5x37xf32>
  %ddown = graph.expert_outer %dd, %t, %ids : (tensor<1x43x5x59xf32>, tensor<1x43x5x37xf32>, tensor<1x43x2xi32>) -> tensor<5x59x37xf32>
  %tt = graph.mul %t, %t : (tensor<1x43x5x37xf32>, tensor<1x43x5x37xf32>) -> tensor<1x43x5x37xf32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  %slope = graph.sub %one, %tt : (tensor<f32>, tensor<1x43x5x37xf32>) -> tensor<1x43x5x37xf32>
  %dh = graph.mul %dt, %slope : (tensor<1x43x5x37xf32>, tensor<1x43x5x37xf32>) -> tensor<1x43x5x37xf32>
  %dup = graph.expert_outer %dh, %r, %ids : (tensor<1x43x5x37xf32>, tensor<1x43x5x59xf32>, tensor<1x43x2xi32>) -> tensor<5x37x59xf32>
  %dr = graph.expert_linear %dh, %up transposed, %ids : (tensor<1x43x5x37xf32>, tensor<5x37x59xf32>, tensor<1x43x2xi32>) -> tensor<1x43x5x59xf32>
  %ones = graph.constant dense<1.0> : tensor<1x43x2xf32> : tensor<1x43x2xf32>
  %dx = graph.combine %dr, %ids, %ones : (tensor<1x43x5x59xf32>, tensor<1x43x2xi32>, tensor<1x43x2xf32>) -> tensor<1x43x59xf32>
  return %dx, %dshares, %dup, %ddown : tensor<1x43x59xf32>, tensor<1x43x2xf32>, tensor<5x37x59xf32>, tensor<5x59x37xf32>
}

func.func @one(%x: tensor<1x1x37xbf16> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %ids: tensor<1x1x6xi32> {graph.kind = #graph.kind<input>, graph.name = "choices", graph.dims = ["batch", "seq", "choice"]},
    %shares: tensor<1x1x6xbf16> {graph.kind = #graph.kind<input>, graph.name = "shares", graph.dims = ["batch", "seq", "choice"]},
    %dy: tensor<1x1x37xbf16> {graph.kind = #graph.kind<input>, graph.name = "dy", graph.dims = ["batch", "seq", "hidden"]},
    %up: tensor<5x70x37xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up_of_one", graph.dims = ["expert", "ffn", "hidden"]},
    %down: tensor<5x37x70xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down_of_one", graph.dims = ["expert", "hidden", "ffn"]})
    -> (tensor<1x1x37xbf16> {graph.kind = #graph.kind<output>, graph.name = "dx"}, tensor<1x1x6xf32> {graph.kind = #graph.kind<output>, graph.name = "dshares"},
        tensor<5x70x37xf32> {graph.kind = #graph.kind<output>, graph.name = "dup"}, tensor<5x37x70xf32> {graph.kind = #graph.kind<output>, graph.name = "ddown"}) {
  %r = graph.dispatch %x, %ids : (tensor<1x1x37xbf16>, tensor<1x1x6xi32>) -> tensor<1x1x5x37xbf16>
  %h = graph.expert_linear %r, %up, %ids : (tensor<1x1x5x37xbf16>, tensor<5x70x37xf32>, tensor<1x1x6xi32>) -> tensor<1x1x5x70xf32>
  %t = graph.tanh %h : tensor<1x1x5x70xf32>
  %d = graph.expert_linear %t, %down, %ids : (tensor<1x1x5x70xf32>, tensor<5x37x70xf32>, tensor<1x1x6xi32>) -> tensor<1x1x5x37xbf16>
  // Backward of the sum of the rows of %d, weighed with the shares.
  %dd = graph.dispatch %dy, %ids weights %shares : (tensor<1x1x37xbf16>, tensor<1x1x6xi32>, tensor<1x1x6xbf16>) -> tensor<1x1x5x37xf32>
  %dshares = graph.chosen_dot %dy, %d, %ids : (tensor<1x1x37xbf16>, tensor<1x1x5x37xbf16>, tensor<1x1x6xi32>) -> tensor<1x1x6xf32>
  %dt = graph.expert_linear %dd, %down transposed, %ids : (tensor<1x1x5x37xf32>, tensor<5x37x70xf32>, tensor<1x1x6xi32>) -> tensor<1x1x5x70xf32>
  %ddown = graph.expert_outer %dd, %t, %ids : (tensor<1x1x5x37xf32>, tensor<1x1x5x70xf32>, tensor<1x1x6xi32>) -> tensor<5x37x70xf32>
  %tt = graph.mul %t, %t : (tensor<1x1x5x70xf32>, tensor<1x1x5x70xf32>) -> tensor<1x1x5x70xf32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  %slope = graph.sub %one, %tt : (tensor<f32>, tensor<1x1x5x70xf32>) -> tensor<1x1x5x70xf32>
  %dh = graph.mul %dt, %slope : (tensor<1x1x5x70xf32>, tensor<1x1x5x70xf32>) -> tensor<1x1x5x70xf32>
  %dup = graph.expert_outer %dh, %r, %ids : (tensor<1x1x5x70xf32>, tensor<1x1x5x37xbf16>, tensor<1x1x6xi32>) -> tensor<5x70x37xf32>
  %dr = graph.expert_linear %dh, %up transposed, %ids : (tensor<1x1x5x70xf32>, tensor<5x70x37xf32>, tensor<1x1x6xi32>) -> tensor<1x1x5x37xbf16>
  %ones = graph.constant dense<1.0> : tensor<1x1x6xf32> : tensor<1x1x6xf32>
  %dx = graph.combine %dr, %ids, %ones : (tensor<1x1x5x37xbf16>, tensor<1x1x6xi32>, tensor<1x1x6xf32>) -> tensor<1x1x37xbf16>
  return %dx, %dshares, %dup, %ddown : tensor<1x1x37xbf16>, tensor<1x1x6xf32>, tensor<5x70x37xf32>, tensor<5x37x70xf32>
}
