// Same numbers after sharding, whatever the mesh: an MLP whose sizes divide by nothing.
// RUN: llm-judge %s --pipeline="tessera-shard{}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=5}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=fsdp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=3 shard=residual:seq=tp}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=fsdp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=4 shard=ffn=tp:(1)2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=2,b=3 shard=hidden=a,ffn=b}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=2,b=2 shard=ffn=a+b,seq=b}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=4 shard=up:ffn=a:(1)2,down:hidden=a:(2)2}"
func.func @forward(%x: tensor<3x5x7xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %g: tensor<7xf32> {graph.kind = #graph.kind<parameter>, graph.name = "norm", graph.dims = ["hidden"]},
    %w1: tensor<11x7xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["ffn", "hidden"]},
    %b1: tensor<11xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up_bias", graph.dims = ["ffn"]},
    %w2: tensor<7x11xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["hidden", "ffn"]},
    %b2: tensor<7xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down_bias", graph.dims = ["hidden"]})
    -> (tensor<3x5x7xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<3x5xf32> {graph.kind = #graph.kind<output>, graph.name = "norm"}) {
  %r = graph.name %x "residual" ["batch", "seq", "hidden"] : tensor<3x5x7xf32>
  %n = graph.rms_norm %r, %g eps = 1.000000e-05 : (tensor<3x5x7xf32>, tensor<7xf32>) -> tensor<3x5x7xf32>
  %h = graph.linear %n, %w1 contract = 1 : (tensor<3x5x7xf32>, tensor<11x7xf32>) -> tensor<3x5x11xf32>
  %hb = graph.add %h, %b1 : (tensor<3x5x11xf32>, tensor<11xf32>) -> tensor<3x5x11xf32>
  %a = graph.gelu_tanh %hb : tensor<3x5x11xf32>
  %o = graph.linear %a, %w2 contract = 1 : (tensor<3x5x11xf32>, tensor<7x11xf32>) -> tensor<3x5x7xf32>
  %ob = graph.add %o, %b2 : (tensor<3x5x7xf32>, tensor<7xf32>) -> tensor<3x5x7xf32>
  %s = graph.add %r, %ob : (tensor<3x5x7xf32>, tensor<3x5x7xf32>) -> tensor<3x5x7xf32>
  %y = graph.name %s "residual" ["batch", "seq", "hidden"] : tensor<3x5x7xf32>
  // Sums and maxima over what is sharded and padded.
  %sq = graph.mul %a, %a : (tensor<3x5x11xf32>, tensor<3x5x11xf32>) -> tensor<3x5x11xf32>
  %sum = graph.reduce sum %sq dims = [2] : (tensor<3x5x11xf32>) -> tensor<3x5xf32>
  %max = graph.reduce max %a dims = [2] : (tensor<3x5x11xf32>) -> tensor<3x5xf32>
  %both = graph.add %sum, %max : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %y, %both : tensor<3x5x7xf32>, tensor<3x5xf32>
}
