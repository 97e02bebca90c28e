// RUN: llm-opt %s --graph-build-generate-step="chunk=4 rings=true" | FileCheck %s
// RUN: llm-opt %s --graph-build-generate-step="chunk=4" | FileCheck %s --check-prefix=WHOLE
// RUN: llm-opt %s --graph-build-generate-step="chunk=14 rings=true" | FileCheck %s --check-prefix=WHOLE
// RUN: llm-opt %s --graph-build-generate-step="chunk=4 page=6 rings=true" | FileCheck %s --check-prefix=PAGES

// Layers 0 and 1 of each three see a window of 3, layer 2 all positions: of seven layers five have rings of window + chunk positions, two a cache of all 16. Each cache
// has a layer for those that use it.
// CHECK: graph.generate = #graph.generate<batch = 2, chunk = 4, max_seq_len = 16, vocab = 9, rewind = 5>
// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: tensor<5x2x7x2x4xf32> {graph.clear = #graph.clear<before_prompts>, graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"], graph.kind = #graph.kind<state>, graph.name = "blocks.k_cache"}
// CHECK-SAME: tensor<5x2x7x2x4xf32> {{[^}]*}}graph.name = "blocks.v_cache"}
// CHECK-SAME: tensor<2x2x16x2x4xf32> {{[^}]*}}graph.name = "blocks.k_cache_1"}
// CHECK-SAME: tensor<2x2x16x2x4xf32> {{[^}]*}}graph.name = "blocks.v_cache_1"}
// CHECK: graph.repeat 7
// CHECK: ^bb0(%[[I:[a-z0-9]+]]: tensor<i32>
// CHECK: %[[N:.*]] = graph.stack_layer %[[I]] period = 3 held = 2 before = 0 : tensor<i32>
// CHECK: %[[K:.*]] = graph.cache_update %{{.*}}[%[[N]]], %{{.*}}, %{{.*}} ring : (tensor<5x2x7x2x4xf32>
// CHECK: graph.layer_slice %[[K]][%[[N]]]
// CHECK: graph.attention {{.*}} ring scale = 5.000000e-01 {window = 3 : i64} : (tensor<2x4x2x1x4xf32>, tensor<2x7x2x4xf32>
// CHECK: ^bb0(%[[I:[a-z0-9]+]]: tensor<i32>
// CHECK: graph.stack_layer %[[I]] period = 3 held = 2 before = 1 : tensor<i32>
// CHECK: graph.attention {{.*}} ring scale
// CHECK: ^bb0(%[[I:[a-z0-9]+]]: tensor<i32>
// CHECK: %[[N:.*]] = graph.stack_layer %[[I]] period = 3 held = 1 before = 0 : tensor<i32>
// CHECK: graph.cache_update %{{.*}}[%[[N]]], %{{.*}}, %{{.*}} : (tensor<2x2x16x2x4xf32>
// CHECK: graph.attention {{.*}}, %{{[a-z0-9]+}} scale
// One token a row goes round as well.
// CHECK-LABEL: func.func @decode(
// CHECK: graph.cache_update {{.*}} ring : (tensor<5x2x7x2x4xf32>, tensor<2x1x2x4xf32>

// Without rings, or where they would not be shorter, all layers share caches of all positions, and rows go back as far as they like.
// WHOLE: graph.generate = #graph.generate<batch = 2, chunk = {{4|14}}, max_seq_len = 16, vocab = 9>
// WHOLE-LABEL: func.func @prefill(
// WHOLE-NOT: {{ring|stack_layer|k_cache_1}}
// WHOLE: tensor<7x2x16x2x4xf32> {{[^}]*}}graph.name = "blocks.v_cache"}
// WHOLE-NOT: {{ring|stack_layer|k_cache_1}}
// WHOLE: func.func @head

// Pages are found by a table, and make no rings.
// PAGES-LABEL: func.func @prefill(
// PAGES-NOT: ring
// PAGES: tensor<7x2x18x2x4xf32> {{[^}]*}}graph.name = "blocks.v_cache"}
func.func @forward(%tokens: tensor<2x16xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %positions: tensor<2x16xi32> {graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
                   %table: tensor<9x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "hidden"]},
                   %wq: tensor<7x2x1x4x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "blocks.q", graph.dims = ["layer", "kv_heads", "group", "head_dim", "hidden"]},
                   %wk: tensor<7x2x4x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "blocks.k", graph.dims = ["layer", "kv_heads", "head_dim", "hidden"]},
                   %wo: tensor<7x8x2x1x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "blocks.o", graph.dims = ["layer", "hidden", "kv_heads", "group", "head_dim"]})
    -> (tensor<2x16x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %table, %tokens : (tensor<9x8xf32>, tensor<2x16xi32>) -> tensor<2x16x8xf32>
  %r = graph.repeat 7 carry(%x : tensor<2x16x8xf32>)
      stack(%wq, %wk, %wo : tensor<7x2x1x4x8xf32>, tensor<7x2x4x8xf32>, tensor<7x8x2x1x4xf32>) -> (tensor<2x16x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<2x16x8xf32>, %q_: tensor<2x1x4x8xf32>, %k_: tensor<2x4x8xf32>, %o_: tensor<8x2x1x4xf32>):
    %q = graph.linear %h, %q_ contract = 1 : (tensor<2x16x8xf32>, tensor<2x1x4x8xf32>) -> tensor<2x16x2x1x4xf32>
    %k = graph.linear %h, %k_ contract = 1 : (tensor<2x16x8xf32>, tensor<2x4x8xf32>) -> tensor<2x16x2x4xf32>
    %v = graph.linear %h, %k_ contract = 1 : (tensor<2x16x8xf32>, tensor<2x4x8xf32>) -> tensor<2x16x2x4xf32>
    %a = graph.attention %q, %k, %v, %positions scale = 0.5 {window = 3 : i64} : (tensor<2x16x2x1x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16xi32>) -> tensor<2x16x2x1x4xf32>
    %y = graph.linear %a, %o_ contract = 3 : (tensor<2x16x2x1x4xf32>, tensor<8x2x1x4xf32>) -> tensor<2x16x8xf32>
    %z = graph.add %h, %y : (tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
    graph.yield %z : tensor<2x16x8xf32>
  }, {
  ^bb0(%i: tensor<i32>, %h: tensor<2x16x8xf32>, %q_: tensor<2x1x4x8xf32>, %k_: tensor<2x4x8xf32>, %o_: tensor<8x2x1x4xf32>):
    %q = graph.linear %h, %q_ contract = 1 : (tensor<2x16x8xf32>, tensor<2x1x4x8xf32>) -> tensor<2x16x2x1x4xf32>
    %k = graph.linear %h, %k_ contract = 1 : (tensor<2x16x8xf32>, tensor<2x4x8xf32>) -> tensor<2x16x2x4xf32>
    %v = graph.linear %h, %k_ contract = 1 : (tensor<2x16x8xf32>, tensor<2x4x8xf32>) -> tensor<2x16x2x4xf32>
    %a = graph.attention %q, %k, %v, %positions scale = 0.5 {window = 3 : i64} : (tensor<2x16x2x1x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16xi32>) -> tensor<2x16x2x1x4xf32>
    %y = graph.linear %a, %o_ contract = 3 : (tensor<2x16x2x1x4xf32>, tensor<8x2x1x4xf32>) -> tensor<2x16x8xf32>
    %z = graph.add %h, %y : (tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
    graph.yield %z : tensor<2x16x8xf32>
  }, {
  ^bb0(%i: tensor<i32>, %h: tensor<2x16x8xf32>, %q_: tensor<2x1x4x8xf32>, %k_: tensor<2x4x8xf32>, %o_: tensor<8x2x1x4xf32>):
    %q = graph.linear %h, %q_ contract = 1 : (tensor<2x16x8xf32>, tensor<2x1x4x8xf32>) -> tensor<2x16x2x1x4xf32>
    %k = graph.linear %h, %k_ contract = 1 : (tensor<2x16x8xf32>, tensor<2x4x8xf32>) -> tensor<2x16x2x4xf32>
    %v = graph.linear %h, %k_ contract = 1 : (tensor<2x16x8xf32>, tensor<2x4x8xf32>) -> tensor<2x16x2x4xf32>
    %a = graph.attention %q, %k, %v, %positions scale = 0.5 : (tensor<2x16x2x1x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16xi32>) -> tensor<2x16x2x1x4xf32>
    %y = graph.linear %a, %o_ contract = 3 : (tensor<2x16x2x1x4xf32>, tensor<8x2x1x4xf32>) -> tensor<2x16x8xf32>
    %z = graph.add %h, %y : (tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
    graph.yield %z : tensor<2x16x8xf32>
  }
  %logits = graph.linear %r, %table contract = 1 : (tensor<2x16x8xf32>, tensor<9x8xf32>) -> tensor<2x16x9xf32>
  return %logits : tensor<2x16x9xf32>
}
