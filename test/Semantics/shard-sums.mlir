// Same numbers with what is normalised sharded (T10), dividing or not.
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2 shard=hidden=tp}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,tp=4 shard=hidden=tp}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=5 shard=hidden=tp}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=2,b=3 shard=hidden=a+b}"
func.func @forward(%x: tensor<3x64x257xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %g: tensor<257xf32> {graph.kind = #graph.kind<parameter>, graph.name = "g", graph.dims = ["hidden"]}, %w: tensor<257xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["hidden"]},
    %b: tensor<257xf32> {graph.kind = #graph.kind<parameter>, graph.name = "b", graph.dims = ["hidden"]})
    -> (tensor<3x64x257xf32> {graph.kind = #graph.kind<output>, graph.name = "rms"}, tensor<3x64x257xf32> {graph.kind = #graph.kind<output>, graph.name = "layer"},
        tensor<3x64x257xf32> {graph.kind = #graph.kind<output>, graph.name = "soft"}) {
  %r = graph.rms_norm %x, %g eps = 1.000000e-05 : (tensor<3x64x257xf32>, tensor<257xf32>) -> tensor<3x64x257xf32>
  %l = graph.layer_norm %x, %w, %b eps = 1.000000e-05 : (tensor<3x64x257xf32>, tensor<257xf32>, tensor<257xf32>) -> tensor<3x64x257xf32>
  %big = graph.constant dense<-2.000000e+02> : tensor<3x64x257xf32> : tensor<3x64x257xf32>
  %far = graph.add %x, %big : (tensor<3x64x257xf32>, tensor<3x64x257xf32>) -> tensor<3x64x257xf32>
  %s = graph.softmax %far : tensor<3x64x257xf32>
  %rn = graph.name %r "rms" ["batch", "seq", "hidden"] : tensor<3x64x257xf32>
  %ln = graph.name %l "layer" ["batch", "seq", "hidden"] : tensor<3x64x257xf32>
  %sn = graph.name %s "soft" ["batch", "seq", "hidden"] : tensor<3x64x257xf32>
  return %rn, %ln, %sn : tensor<3x64x257xf32>, tensor<3x64x257xf32>, tensor<3x64x257xf32>
}
