// Same numbers after sharding: backward of five experts, whose choices are given, stand twice in a row at times, and outside. Tokens, experts and widths divide nothing.
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=ep=2}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=ep=7}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=dp=2,ep=2}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=dp=2,ep=2 shard=batch=dp+ep}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=fsdp=2,tp=2}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=sp=2,ep=3}"
// RUN: llm-judge %s --entry='*' --pipeline="tessera-shard{mesh=a=2,b=2 shard=hidden=a,expert=b}"
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --mesh=ep=3
// RUN: llm-judge %s --rung=binary --mesh=dp=2,ep=2,tp=2
func.func @backward(%x: tensor<3x5x7xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %ids: tensor<3x5x3xi32> {graph.kind = #graph.kind<input>, graph.name = "choices", graph.dims = ["batch", "seq", "choice"]},
    %shares: tensor<3x5x3xf32> {graph.kind = #graph.kind<input>, graph.name = "shares", graph.dims = ["batch", "seq", "choice"]},
    %dy: tensor<3x5x7xf32> {graph.kind = #graph.kind<input>, graph.name = "dy", graph.dims = ["batch", "seq", "hidden"]},
    %up: tensor<5x11x7xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["expert", "ffn", "hidden"]},
    %down: tensor<5x7x11xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["expert", "hidden", "ffn"]})
    -> (tensor<3x5x7xf32> {graph.kind = #graph.kind<output>, graph.name = "dx"}, tensor<3x5x3xf32> {graph.kind = #graph.kind<output>, graph.name = "dshares"},
        tensor<5x11x7xf32> {graph.kind = #graph.kind<output>, graph.name = "dup"}, tensor<5x7x11xf32> {graph.kind = #graph.kind<output>, graph.name = "ddown"}) {
  %r = graph.dispatch %x, %ids : (tensor<3x5x7xf32>, tensor<3x5x3xi32>) -> tensor<3x5x5x7xf32>
  %h = graph.expert_linear %r, %up, %ids : (tensor<3x5x5x7xf32>, tensor<5x11x7xf32>, tensor<3x5x3xi32>) -> tensor<3x5x5x11xf32>
  %t = graph.tanh %h : tensor<3x5x5x11xf32>
  %d = graph.expert_linear %t, %down, %ids : (tensor<3x5x5x11xf32>, tensor<5x7x11xf32>, tensor<3x5x3xi32>) -> tensor<3x5x5x7xf32>
  // Backward of the sum of the rows of %d, weighed with the shares.
  %dd = graph.dispatch %dy, %ids weights %shares : (tensor<3x5x7xf32>, tensor<3x5x3xi32>, tensor<3x5x3xf32>) -> tensor<3x5x5x7xf32>
  %dshares = graph.chosen_dot %dy, %d, %ids : (tensor<3x5x7xf32>, tensor<3x5x5x7xf32>, tensor<3x5x3xi32>) -> tensor<3x5x3xf32>
  %dt = graph.expert_linear %dd, %down transposed, %ids : (tensor<3x5x5x7xf32>, tensor<5x7x11xf32>, tensor<3x5x3xi32>) -> tensor<3x5x5x11xf32>
  %ddown = graph.expert_outer %dd, %t, %ids : (tensor<3x5x5x7xf32>, tensor<3x5x5x11xf32>, tensor<3x5x3xi32>) -> tensor<5x7x11xf32>
  %tt = graph.mul %t, %t : (tensor<3x5x5x11xf32>, tensor<3x5x5x11xf32>) -> tensor<3x5x5x11xf32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  %slope = graph.sub %one, %tt : (tensor<f32>, tensor<3x5x5x11xf32>) -> tensor<3x5x5x11xf32>
  %dh = graph.mul %dt, %slope : (tensor<3x5x5x11xf32>, tensor<3x5x5x11xf32>) -> tensor<3x5x5x11xf32>
  %dup = graph.expert_outer %dh, %r, %ids : (tensor<3x5x5x11xf32>, tensor<3x5x5x7xf32>, tensor<3x5x3xi32>) -> tensor<5x11x7xf32>
  %dr = graph.expert_linear %dh, %up transposed, %ids : (tensor<3x5x5x11xf32>, tensor<5x11x7xf32>, tensor<3x5x3xi32>) -> tensor<3x5x5x7xf32>
  %ones = graph.constant dense<1.0> : tensor<3x5x3xf32> : tensor<3x5x3xf32>
  %dx = graph.combine %dr, %ids, %ones : (tensor<3x5x5x7xf32>, tensor<3x5x3xi32>, tensor<3x5x3xf32>) -> tensor<3x5x7xf32>
  return %dx, %dshares, %dup, %ddown : tensor<3x5x7xf32>, tensor<3x5x3xf32>, tensor<5x11x7xf32>, tensor<5x7x11xf32>
}

// Ids that follow from a softmax written out: its padding may be infinite, theirs are some ids. What is masked are rows.
func.func @routed(%x: tensor<3x5x7xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %rows: tensor<3x5x5x7xf32> {graph.kind = #graph.kind<input>, graph.name = "rows", graph.dims = ["batch", "seq", "expert", "hidden"]},
    %dh: tensor<3x5x5x11xf32> {graph.kind = #graph.kind<input>, graph.name = "dh", graph.dims = ["batch", "seq", "expert", "ffn"]},
    %router: tensor<5x7xf32> {graph.kind = #graph.kind<parameter>, graph.name = "router", graph.dims = ["expert", "hidden"]})
    -> (tensor<5x11x7xf32> {graph.kind = #graph.kind<output>, graph.name = "dup"}) {
  %scores = graph.linear %x, %router contract = 1 : (tensor<3x5x7xf32>, tensor<5x7xf32>) -> tensor<3x5x5xf32>
  %e = graph.exp %scores : tensor<3x5x5xf32>
  %sum = graph.reduce sum %e dims = [2] : (tensor<3x5x5xf32>) -> tensor<3x5xf32>
  %sum1 = graph.reshape %sum : (tensor<3x5xf32>) -> tensor<3x5x1xf32>
  %p = graph.div %e, %sum1 : (tensor<3x5x5xf32>, tensor<3x5x1xf32>) -> tensor<3x5x5xf32>
  %v, %ids = graph.top_k %p : (tensor<3x5x5xf32>) -> (tensor<3x5x2xf32>, tensor<3x5x2xi32>)
  %dup = graph.expert_outer %dh, %rows, %ids : (tensor<3x5x5x11xf32>, tensor<3x5x5x7xf32>, tensor<3x5x2xi32>) -> tensor<5x11x7xf32>
  return %dup : tensor<5x11x7xf32>
}
