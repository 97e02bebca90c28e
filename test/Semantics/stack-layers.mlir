// Caches that some bodies of a period have: two of three a ring, one a cache of all positions, over seven layers. Each holds its own layers alone; a layer's number that is off reads another one's
// keys, or is behind the last. Sharded and as programs.
// RUN: llm-judge %s
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=dp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=tp=2}"
// RUN: llm-judge %s --pipeline="tessera-shard{mesh=cp=2}"
// RUN: llm-judge %s --rung=binary
// RUN: llm-judge %s --rung=binary --mesh=cp=3
func.func @attention(%x: tensor<2x3x2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %p: tensor<2x3xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
    %r: tensor<5x2x6x2x4xf32> {graph.kind = #graph.kind<state>, graph.name = "ring", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]},
    %c: tensor<2x2x9x2x4xf32> {graph.kind = #graph.kind<state>, graph.name = "cache", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]})
    -> (tensor<2x3x2x4xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<5x2x6x2x4xf32> {graph.kind = #graph.kind<state>, graph.name = "ring"},
        tensor<2x2x9x2x4xf32> {graph.kind = #graph.kind<state>, graph.name = "cache"}) {
  %o:3 = graph.repeat 7 carry(%x, %r, %c : tensor<2x3x2x4xf32>, tensor<5x2x6x2x4xf32>, tensor<2x2x9x2x4xf32>) -> (tensor<2x3x2x4xf32>, tensor<5x2x6x2x4xf32>, tensor<2x2x9x2x4xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<2x3x2x4xf32>, %rs: tensor<5x2x6x2x4xf32>, %cs: tensor<2x2x9x2x4xf32>):
    %n = graph.stack_layer %i period = 3 held = 2 before = 0 : tensor<i32>
    %u = graph.cache_update %rs[%n], %h, %p ring : (tensor<5x2x6x2x4xf32>, tensor<2x3x2x4xf32>, tensor<i32>, tensor<2x3xi32>) -> tensor<5x2x6x2x4xf32>
    %k = graph.layer_slice %u[%n] : (tensor<5x2x6x2x4xf32>, tensor<i32>) -> tensor<2x6x2x4xf32>
    %q = graph.reshape %h : (tensor<2x3x2x4xf32>) -> tensor<2x3x2x1x4xf32>
    %a = graph.attention %q, %k, %k, %p ring scale = 0.5 {window = 2 : i64} : (tensor<2x3x2x1x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x4xf32>, tensor<2x3xi32>) -> tensor<2x3x2x1x4xf32>
    %b = graph.reshape %a : (tensor<2x3x2x1x4xf32>) -> tensor<2x3x2x4xf32>
    %y = graph.add %h, %b : (tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>) -> tensor<2x3x2x4xf32>
    graph.yield %y, %u, %cs : tensor<2x3x2x4xf32>, tensor<5x2x6x2x4xf32>, tensor<2x2x9x2x4xf32>
  }, {
  ^bb0(%i: tensor<i32>, %h: tensor<2x3x2x4xf32>, %rs: tensor<5x2x6x2x4xf32>, %cs: tensor<2x2x9x2x4xf32>):
    %n = graph.stack_layer %i period = 3 held = 2 before = 1 : tensor<i32>
    %u = graph.cache_update %rs[%n], %h, %p ring : (tensor<5x2x6x2x4xf32>, tensor<2x3x2x4xf32>, tensor<i32>, tensor<2x3xi32>) -> tensor<5x2x6x2x4xf32>
    %k = graph.layer_slice %u[%n] : (tensor<5x2x6x2x4xf32>, tensor<i32>) -> tensor<2x6x2x4xf32>
    %q = graph.reshape %h : (tensor<2x3x2x4xf32>) -> tensor<2x3x2x1x4xf32>
    %a = graph.attention %q, %k, %k, %p ring scale = 0.5 {window = 2 : i64} : (tensor<2x3x2x1x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x4xf32>, tensor<2x3xi32>) -> tensor<2x3x2x1x4xf32>
    %b = graph.reshape %a : (tensor<2x3x2x1x4xf32>) -> tensor<2x3x2x4xf32>
    %y = graph.add %h, %b : (tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>) -> tensor<2x3x2x4xf32>
    graph.yield %y, %u, %cs : tensor<2x3x2x4xf32>, tensor<5x2x6x2x4xf32>, tensor<2x2x9x2x4xf32>
  }, {
  ^bb0(%i: tensor<i32>, %h: tensor<2x3x2x4xf32>, %rs: tensor<5x2x6x2x4xf32>, %cs: tensor<2x2x9x2x4xf32>):
    %n = graph.stack_layer %i period = 3 held = 1 before = 0 : tensor<i32>
    %u = graph.cache_update %cs[%n], %h, %p : (tensor<2x2x9x2x4xf32>, tensor<2x3x2x4xf32>, tensor<i32>, tensor<2x3xi32>) -> tensor<2x2x9x2x4xf32>
    %k = graph.layer_slice %u[%n] : (tensor<2x2x9x2x4xf32>, tensor<i32>) -> tensor<2x9x2x4xf32>
    %q = graph.reshape %h : (tensor<2x3x2x4xf32>) -> tensor<2x3x2x1x4xf32>
    %a = graph.attention %q, %k, %k, %p scale = 0.5 : (tensor<2x3x2x1x4xf32>, tensor<2x9x2x4xf32>, tensor<2x9x2x4xf32>, tensor<2x3xi32>) -> tensor<2x3x2x1x4xf32>
    %b = graph.reshape %a : (tensor<2x3x2x1x4xf32>) -> tensor<2x3x2x4xf32>
    %y = graph.add %h, %b : (tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>) -> tensor<2x3x2x4xf32>
    graph.yield %y, %rs, %u : tensor<2x3x2x4xf32>, tensor<5x2x6x2x4xf32>, tensor<2x2x9x2x4xf32>
  }
  return %o#0, %o#1, %o#2 : tensor<2x3x2x4xf32>, tensor<5x2x6x2x4xf32>, tensor<2x2x9x2x4xf32>
}
