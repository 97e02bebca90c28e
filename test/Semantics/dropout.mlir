// The same elements are dropped however rows, columns, heads and keys are sharded, and by the kernels of the CPU, in attention and its gradients, too.
// REQUIRES: slow
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=3,tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=3 shard=hidden=a}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=2 shard=seq=a}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=2 shard=context=a}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=a=2,b=2 shard=kv_heads=a,group=b}"
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --mesh=dp=2,tp=2
// In bfloat16 products go in pairs where the CPU can.
// RUN: sed 's/x8xf32/x8xbf16/g' %s > %t.bf16.mlir && llm-judge %t.bf16.mlir --rung=binary
// Few rows: keys stand in the lanes.
// RUN: sed 's/x19x/x1x/g' %s > %t.few.mlir && llm-judge %t.few.mlir --rung=binary
func.func @dropout(%x: tensor<5x19x14xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
    %q: tensor<5x19x2x3x8xf32> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
    %k: tensor<5x70x2x8xf32> {graph.kind = #graph.kind<input>, graph.name = "k", graph.dims = ["batch", "context", "kv_heads", "head_dim"]},
    %v: tensor<5x70x2x8xf32> {graph.kind = #graph.kind<input>, graph.name = "v", graph.dims = ["batch", "context", "kv_heads", "head_dim"]},
    %w: tensor<14x14xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["out", "hidden"]},
    %positions: tensor<5x19xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
    %key: tensor<i64> {graph.kind = #graph.kind<input>, graph.name = "key", graph.fill = #graph.fill<dropout_key>},
    %p: tensor<f32> {graph.kind = #graph.kind<input>, graph.name = "p", graph.fill = #graph.fill<dropout>})
    -> (tensor<5x19x14xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<5x19x2x3x8xf32> {graph.kind = #graph.kind<output>, graph.name = "mixed"},
        tensor<5x19x2x3x8xf32> {graph.kind = #graph.kind<output>, graph.name = "dq"}, tensor<5x70x2x8xf32> {graph.kind = #graph.kind<output>, graph.name = "dk"},
        tensor<5x70x2x8xf32> {graph.kind = #graph.kind<output>, graph.name = "dv"}) {
  %one = graph.constant dense<1> : tensor<i64> : tensor<i64>
  %many = graph.constant dense<100> : tensor<i64> : tensor<i64>
  // Rows of the stream: of the sum of a product, which is partial where hidden is sharded.
  %batch = graph.iota dim = 0 : tensor<5x19x1xi64>
  %hundreds = graph.mul %batch, %many : (tensor<5x19x1xi64>, tensor<i64>) -> tensor<5x19x1xi64>
  %seq = graph.iota dim = 1 : tensor<5x19x1xi64>
  %rows = graph.add %hundreds, %seq : (tensor<5x19x1xi64>, tensor<5x19x1xi64>) -> tensor<5x19x1xi64>
  %keys = graph.random_key %key, %one, %rows : (tensor<i64>, tensor<i64>, tensor<5x19x1xi64>) -> tensor<5x19x1xi64>
  %columns = graph.iota dim = 0 : tensor<14xi32>
  %z = graph.linear %x, %w contract = 1 : (tensor<5x19x14xf32>, tensor<14x14xf32>) -> tensor<5x19x14xf32>
  %y = graph.dropout %z keys %keys columns %columns probability %p : (tensor<5x19x14xf32>, tensor<5x19x1xi64>, tensor<14xi32>, tensor<f32>) -> tensor<5x19x14xf32>
  // Rows of weights.
  %hb = graph.iota dim = 0 : tensor<5x19x2x3xi64>
  %hs = graph.iota dim = 1 : tensor<5x19x2x3xi64>
  %hh = graph.iota dim = 2 : tensor<5x19x2x3xi64>
  %hg = graph.iota dim = 3 : tensor<5x19x2x3xi64>
  %h0 = graph.mul %hb, %many : (tensor<5x19x2x3xi64>, tensor<i64>) -> tensor<5x19x2x3xi64>
  %h1 = graph.add %h0, %hs : (tensor<5x19x2x3xi64>, tensor<5x19x2x3xi64>) -> tensor<5x19x2x3xi64>
  %h2 = graph.mul %h1, %many : (tensor<5x19x2x3xi64>, tensor<i64>) -> tensor<5x19x2x3xi64>
  %h3 = graph.add %h2, %hh : (tensor<5x19x2x3xi64>, tensor<5x19x2x3xi64>) -> tensor<5x19x2x3xi64>
  %h4 = graph.mul %h3, %many : (tensor<5x19x2x3xi64>, tensor<i64>) -> tensor<5x19x2x3xi64>
  %h5 = graph.add %h4, %hg : (tensor<5x19x2x3xi64>, tensor<5x19x2x3xi64>) -> tensor<5x19x2x3xi64>
  %heads = graph.random_key %key, %many, %h5 : (tensor<i64>, tensor<i64>, tensor<5x19x2x3xi64>) -> tensor<5x19x2x3xi64>
  // Queries stand at the end of the context: they see most keys.
  %shift = graph.constant dense<50> : tensor<i32> : tensor<i32>
  %places = graph.add %positions, %shift : (tensor<5x19xi32>, tensor<i32>) -> tensor<5x19xi32>
  %mixed, %lse = graph.attention %q, %k, %v, %places dropout %heads, %p scale = 0.35
      : (tensor<5x19x2x3x8xf32>, tensor<5x70x2x8xf32>, tensor<5x70x2x8xf32>, tensor<5x19xi32>, tensor<5x19x2x3xi64>, tensor<f32>) -> (tensor<5x19x2x3x8xf32>, tensor<5x19x2x3xf32>)
  %g = graph.tanh %q : tensor<5x19x2x3x8xf32>
  %products = graph.mul %mixed, %g : (tensor<5x19x2x3x8xf32>, tensor<5x19x2x3x8xf32>) -> tensor<5x19x2x3x8xf32>
  %delta = graph.reduce sum %products dims = [4] : (tensor<5x19x2x3x8xf32>) -> tensor<5x19x2x3xf32>
  %dq = graph.attention_query_gradient %q, %k, %v, %places, %g, %lse, %delta dropout %heads, %p scale = 0.35
      : (tensor<5x19x2x3x8xf32>, tensor<5x70x2x8xf32>, tensor<5x70x2x8xf32>, tensor<5x19xi32>, tensor<5x19x2x3x8xf32>, tensor<5x19x2x3xf32>, tensor<5x19x2x3xf32>,
         tensor<5x19x2x3xi64>, tensor<f32>) -> tensor<5x19x2x3x8xf32>
  %dk, %dv = graph.attention_key_value_gradient %q, %k, %v, %places, %g, %lse, %delta dropout %heads, %p scale = 0.35
      : (tensor<5x19x2x3x8xf32>, tensor<5x70x2x8xf32>, tensor<5x70x2x8xf32>, tensor<5x19xi32>, tensor<5x19x2x3x8xf32>, tensor<5x19x2x3xf32>, tensor<5x19x2x3xf32>,
         tensor<5x19x2x3xi64>, tensor<f32>) -> (tensor<5x70x2x8xf32>, tensor<5x70x2x8xf32>)
  return %y, %mixed, %dq, %dk, %dv : tensor<5x19x14xf32>, tensor<5x19x2x3x8xf32>, tensor<5x19x2x3x8xf32>, tensor<5x70x2x8xf32>, tensor<5x70x2x8xf32>
}
