// Same numbers after sharding: five experts of seven-wide tokens, on meshes that divide nothing. Choices are a router's, and then such as are given, which stand
// twice in a row at times, and outside.
// RUN: llm-judge %s --pipeline="tessera-shard{}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=ep=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=ep=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=ep=7}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=ep=2,tp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,ep=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,ep=2 shard=batch=dp+ep}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=fsdp=2,ep=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=2,ep=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=2,b=2 shard=hidden=a,expert=b}"
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --mesh=ep=3
// RUN: llm-judge %s --rung=binary --mesh=dp=2,ep=2,tp=2 --shard=batch=dp+ep
func.func @forward(%x: tensor<3x5x7xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %given: tensor<3x5x3xi32> {graph.kind = #graph.kind<input>, graph.name = "choices", graph.dims = ["batch", "seq", "choice"]},
    %shares: tensor<3x5x3xf32> {graph.kind = #graph.kind<input>, graph.name = "shares", graph.dims = ["batch", "seq", "choice"]},
    %router: tensor<5x7xf32> {graph.kind = #graph.kind<parameter>, graph.name = "router", graph.dims = ["expert", "hidden"]},
    %gate: tensor<5x11x7xf32> {graph.kind = #graph.kind<parameter>, graph.name = "gate", graph.dims = ["expert", "ffn", "hidden"]},
    %up: tensor<5x11x7xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["expert", "ffn", "hidden"]},
    %bias: tensor<5x11xf32> {graph.kind = #graph.kind<parameter>, graph.name = "bias", graph.dims = ["expert", "ffn"]},
    %down: tensor<5x7x11xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["expert", "hidden", "ffn"]})
    -> (tensor<3x5x7xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<3x5x7xf32> {graph.kind = #graph.kind<output>, graph.name = "z"},
        tensor<3x5x2xi32> {graph.kind = #graph.kind<output>, graph.name = "ids"}, tensor<3x5x5xf32> {graph.kind = #graph.kind<output>, graph.name = "rows"}) {
  %scores = graph.linear %x, %router contract = 1 : (tensor<3x5x7xf32>, tensor<5x7xf32>) -> tensor<3x5x5xf32>
  %p = graph.softmax %scores : tensor<3x5x5xf32>
  %weights, %ids = graph.top_k %p : (tensor<3x5x5xf32>) -> (tensor<3x5x2xf32>, tensor<3x5x2xi32>)
  %rows = graph.dispatch %x, %ids : (tensor<3x5x7xf32>, tensor<3x5x2xi32>) -> tensor<3x5x5x7xf32>
  %g = graph.expert_linear %rows, %gate, %ids : (tensor<3x5x5x7xf32>, tensor<5x11x7xf32>, tensor<3x5x2xi32>) -> tensor<3x5x5x11xf32>
  %u = graph.expert_linear %rows, %up, %ids : (tensor<3x5x5x7xf32>, tensor<5x11x7xf32>, tensor<3x5x2xi32>) -> tensor<3x5x5x11xf32>
  %gb = graph.add %g, %bias : (tensor<3x5x5x11xf32>, tensor<5x11xf32>) -> tensor<3x5x5x11xf32>
  %s = graph.silu %gb : tensor<3x5x5x11xf32>
  %h = graph.mul %s, %u : (tensor<3x5x5x11xf32>, tensor<3x5x5x11xf32>) -> tensor<3x5x5x11xf32>
  %d = graph.expert_linear %h, %down, %ids : (tensor<3x5x5x11xf32>, tensor<5x7x11xf32>, tensor<3x5x2xi32>) -> tensor<3x5x5x7xf32>
  %y = graph.combine %d, %ids, %weights : (tensor<3x5x5x7xf32>, tensor<3x5x2xi32>, tensor<3x5x2xf32>) -> tensor<3x5x7xf32>
  // Choices that are given; all rows are read, too.
  %r2 = graph.dispatch %y, %given : (tensor<3x5x7xf32>, tensor<3x5x3xi32>) -> tensor<3x5x5x7xf32>
  %u2 = graph.expert_linear %r2, %up, %given : (tensor<3x5x5x7xf32>, tensor<5x11x7xf32>, tensor<3x5x3xi32>) -> tensor<3x5x5x11xf32>
  %all = graph.reduce max %u2 dims = [3] : (tensor<3x5x5x11xf32>) -> tensor<3x5x5xf32>
  %d2 = graph.expert_linear %u2, %down, %given : (tensor<3x5x5x11xf32>, tensor<5x7x11xf32>, tensor<3x5x3xi32>) -> tensor<3x5x5x7xf32>
  %z = graph.combine %d2, %given, %shares : (tensor<3x5x5x7xf32>, tensor<3x5x3xi32>, tensor<3x5x3xf32>) -> tensor<3x5x7xf32>
  return %y, %z, %ids, %all : tensor<3x5x7xf32>, tensor<3x5x7xf32>, tensor<3x5x2xi32>, tensor<3x5x5xf32>
}
