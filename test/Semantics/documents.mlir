// Queries that say the last key they see, and the first: several documents in a row, and a token that sees nothing. Same numbers after sharding, and compiled; forward and both gradients.
// RUN: llm-judge %s --pipeline="tessera-shard{}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=sp=2,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=cp=3}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2,cp=2}"
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --mesh=sp=2
// RUN: llm-judge %s --rung=binary --mesh=cp=2
func.func @attention(
    %q: tensor<2x12x2x2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<2x12x2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<2x12x2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %g: tensor<2x12x2x2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "g", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]})
    -> (tensor<2x12x2x2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "o"}, tensor<2x12x2x2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "dq"},
        tensor<2x12x2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "dk"}, tensor<2x12x2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "dv"}) {
  %last = graph.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], [0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -1, -1]]> : tensor<2x12xi32> : tensor<2x12xi32>
  %first = graph.constant dense<[[0, 0, 0, 0, 0, 5, 5, 5, 5, 9, 10, 10], [0, 1, 1, 1, 1, 1, 1, 7, 7, 0, 0, 0]]> : tensor<2x12xi32> : tensor<2x12xi32>
  %l = graph.reshape %last : (tensor<2x12xi32>) -> tensor<2x12x1xi32>
  %f = graph.reshape %first : (tensor<2x12xi32>) -> tensor<2x12x1xi32>
  %keys = graph.concat %l, %f dim = 2 : (tensor<2x12x1xi32>, tensor<2x12x1xi32>) -> tensor<2x12x2xi32>
  %o, %s = graph.attention %q, %k, %v, %keys scale = 0.5 : (tensor<2x12x2x2x4xf32>, tensor<2x12x2x4xf32>, tensor<2x12x2x4xf32>, tensor<2x12x2xi32>) -> (tensor<2x12x2x2x4xf32>, tensor<2x12x2x2xf32>)
  %og = graph.mul %o, %g : (tensor<2x12x2x2x4xf32>, tensor<2x12x2x2x4xf32>) -> tensor<2x12x2x2x4xf32>
  %d = graph.reduce sum %og dims = [4] : (tensor<2x12x2x2x4xf32>) -> tensor<2x12x2x2xf32>
  %dq = graph.attention_query_gradient %q, %k, %v, %keys, %g, %s, %d scale = 0.5
      : (tensor<2x12x2x2x4xf32>, tensor<2x12x2x4xf32>, tensor<2x12x2x4xf32>, tensor<2x12x2xi32>, tensor<2x12x2x2x4xf32>, tensor<2x12x2x2xf32>, tensor<2x12x2x2xf32>) -> tensor<2x12x2x2x4xf32>
  %dk, %dv = graph.attention_key_value_gradient %q, %k, %v, %keys, %g, %s, %d scale = 0.5
      : (tensor<2x12x2x2x4xf32>, tensor<2x12x2x4xf32>, tensor<2x12x2x4xf32>, tensor<2x12x2xi32>, tensor<2x12x2x2x4xf32>, tensor<2x12x2x2xf32>, tensor<2x12x2x2xf32>) -> (tensor<2x12x2x4xf32>, tensor<2x12x2x4xf32>)
  return %o, %dq, %dk, %dv : tensor<2x12x2x2x4xf32>, tensor<2x12x2x2x4xf32>, tensor<2x12x2x4xf32>, tensor<2x12x2x4xf32>
}
