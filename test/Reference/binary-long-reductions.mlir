// Long reductions of few rows are computed in parts where a target asks for many iterations: sums, maxima, the largest with its index (the lowest of those
// that are equal), products, norms and softmax keep their numbers, whole and where ranks hold shards of what is reduced.
// REQUIRES: standin, slow
// DEFINE: %{cuda} = env TESSERA_PTXAS= TESSERA_STANDIN_GPUS=2 TESSERA_STANDIN_RACES=1 %standin llm-judge %s --rung=binary --target=cuda --target-options=grain=256
// RUN: %{cuda} --seed=%seed
// RUN: %{cuda} --mesh=x=2 --shard=wide=x
// RUN: %{cuda} --mesh=x=2 --shard=wide=x --shard=row=x
// RUN: %build/bin/llm-judge-fused %s --rung=binary --target=fused --target-options=small=64,iterations=64
// RUN: %build/bin/llm-judge-fused %s --rung=binary --target=fused --target-options=small=64,iterations=64 --mesh=x=3 --shard=wide=x
func.func @largest(%x: tensor<1x3x6000xf32> {graph.kind = #graph.kind<input>, graph.name = "x0", graph.dims = ["batch", "row", "wide"]}) -> (tensor<1x3xi32>, tensor<1x3xi32>, tensor<1x3xf32>) {
  %k = graph.arg_max_key %x : (tensor<1x3x6000xf32>) -> tensor<1x3xi64>
  %i = graph.arg_max_index %k : (tensor<1x3xi64>) -> tensor<1x3xi32>
  // Nearly all are equal.
  %zero = graph.constant dense<0.5> : tensor<f32> : tensor<f32>
  %flat = graph.minimum %x, %zero : (tensor<1x3x6000xf32>, tensor<f32>) -> tensor<1x3x6000xf32>
  %k1 = graph.arg_max_key %flat : (tensor<1x3x6000xf32>) -> tensor<1x3xi64>
  %i1 = graph.arg_max_index %k1 : (tensor<1x3xi64>) -> tensor<1x3xi32>
  %m = graph.reduce max %x dims = [2] : (tensor<1x3x6000xf32>) -> tensor<1x3xf32>
  return %i, %i1, %m : tensor<1x3xi32>, tensor<1x3xi32>, tensor<1x3xf32>
}
func.func @sums(%x: tensor<2x5000x3xbf16> {graph.kind = #graph.kind<input>, graph.name = "x1", graph.dims = ["row", "wide", "few"]}, %w: tensor<3x5000xbf16> {graph.kind = #graph.kind<input>, graph.name = "w1", graph.dims = ["few", "wide"]}, %y: tensor<2x5000xbf16> {graph.kind = #graph.kind<input>, graph.name = "y1", graph.dims = ["row", "wide"]})
    -> (tensor<2x3xbf16>, tensor<3xf32>, tensor<2x3xbf16>) {
  %sum = graph.reduce sum %x dims = [1] : (tensor<2x5000x3xbf16>) -> tensor<2x3xbf16>
  %square = graph.mul %x, %x : (tensor<2x5000x3xbf16>, tensor<2x5000x3xbf16>) -> tensor<2x5000x3xbf16>
  %all = graph.reduce sum %square dims = [0, 1] : (tensor<2x5000x3xbf16>) -> tensor<3xf32>
  %product = graph.linear %y, %w contract = 1 : (tensor<2x5000xbf16>, tensor<3x5000xbf16>) -> tensor<2x3xbf16>
  return %sum, %all, %product : tensor<2x3xbf16>, tensor<3xf32>, tensor<2x3xbf16>
}
func.func @rows(%x: tensor<1x2x9216xf32> {graph.kind = #graph.kind<input>, graph.name = "x2", graph.dims = ["batch", "row", "wide"]}, %w: tensor<9216xf32> {graph.kind = #graph.kind<input>, graph.name = "w2", graph.dims = ["wide"]}) -> (tensor<1x2x9216xf32>, tensor<1x2x9216xf32>) {
  %s = graph.softmax %x : tensor<1x2x9216xf32>
  %n = graph.rms_norm %x, %w eps = 1.0e-5 : (tensor<1x2x9216xf32>, tensor<9216xf32>) -> tensor<1x2x9216xf32>
  return %s, %n : tensor<1x2x9216xf32>, tensor<1x2x9216xf32>
}
