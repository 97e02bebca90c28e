// RUN: llm-opt %s --graph-build-generate-step="chunk=4 page=6" | FileCheck %s
// RUN: not llm-opt %s --graph-build-generate-step="chunk=4 page=-1" 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: cannot run with pages of -1 positions: expected 1 or more, or 0 for none

// Caches in pages: 16 positions are three pages of 6, and one state says for all caches where the pages of a row stand. It is not cleared before prompts, and no
// entry changes it.
// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: %[[POS:[a-z0-9]+]]: tensor<2x4xi32> {{[^}]*}}graph.fill = #graph.fill<positions>
// CHECK-SAME: tensor<3x2x18x2x4xf32> {{[^}]*}}graph.name = "blocks.k_cache"}
// CHECK-SAME: tensor<3x2x18x2x4xf32> {{[^}]*}}graph.name = "blocks.v_cache"}
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: tensor<2x3xi32> {graph.dims = ["batch", "page"], graph.fill = #graph.fill<pages>, graph.kind = #graph.kind<state>, graph.name = "pages"}
// CHECK-SAME: graph.name = "next_tokens"}
// CHECK-SAME: ->
// CHECK-NOT: graph.name = "pages"
// CHECK: graph.repeat
// CHECK: %[[K:.*]] = graph.cache_update %{{.*}}, %{{.*}}, %[[POS]] pages %[[TABLE]] of 6
// CHECK: graph.layer_slice %[[K]]
// CHECK: %[[V:.*]] = graph.cache_update %{{.*}}, %{{.*}}, %[[POS]] pages %[[TABLE]] of 6
// CHECK: graph.layer_slice %[[V]]
// CHECK: graph.attention %{{.*}}, %[[POS]] pages %[[TABLE]] of 6
// A text still ends where it did.
// CHECK-LABEL: func.func @decode(
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: tensor<2x3xi32> {{[^}]*}}graph.name = "pages"}
// CHECK-COUNT-2: graph.cache_update {{.*}} pages %[[TABLE]] of 6
// CHECK: graph.attention {{.*}} pages %[[TABLE]] of 6
// CHECK: graph.constant dense<16>
// The tail has no caches, and no pages.
// CHECK-LABEL: func.func @head(
// CHECK-NOT: graph.name = "pages"
func.func @forward(%tokens: tensor<2x16xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %positions: tensor<2x16xi32> {graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
                   %table: tensor<9x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "hidden"]},
                   %wq: tensor<3x2x1x4x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "blocks.q", graph.dims = ["layer", "kv_heads", "group", "head_dim", "hidden"]},
                   %wk: tensor<3x2x4x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "blocks.k", graph.dims = ["layer", "kv_heads", "head_dim", "hidden"]},
                   %wo: tensor<3x8x2x1x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "blocks.o", graph.dims = ["layer", "hidden", "kv_heads", "group", "head_dim"]},
                   %norm: tensor<8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "norm", graph.dims = ["hidden"]})
    -> (tensor<2x16x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %table, %tokens : (tensor<9x8xf32>, tensor<2x16xi32>) -> tensor<2x16x8xf32>
  %r = graph.repeat 3 carry(%x : tensor<2x16x8xf32>)
      stack(%wq, %wk, %wo : tensor<3x2x1x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x8x2x1x4xf32>) -> (tensor<2x16x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<2x16x8xf32>, %q_: tensor<2x1x4x8xf32>, %k_: tensor<2x4x8xf32>, %o_: tensor<8x2x1x4xf32>):
    %q = graph.linear %h, %q_ contract = 1 : (tensor<2x16x8xf32>, tensor<2x1x4x8xf32>) -> tensor<2x16x2x1x4xf32>
    %k = graph.linear %h, %k_ contract = 1 : (tensor<2x16x8xf32>, tensor<2x4x8xf32>) -> tensor<2x16x2x4xf32>
    %v = graph.linear %h, %k_ contract = 1 : (tensor<2x16x8xf32>, tensor<2x4x8xf32>) -> tensor<2x16x2x4xf32>
    %a = graph.attention %q, %k, %v, %positions scale = 0.5 : (tensor<2x16x2x1x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16xi32>) -> tensor<2x16x2x1x4xf32>
    %y = graph.linear %a, %o_ contract = 3 : (tensor<2x16x2x1x4xf32>, tensor<8x2x1x4xf32>) -> tensor<2x16x8xf32>
    %z = graph.add %h, %y : (tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
    graph.yield %z : tensor<2x16x8xf32>
  }
  %n = graph.rms_norm %r, %norm eps = 1.0e-5 : (tensor<2x16x8xf32>, tensor<8xf32>) -> tensor<2x16x8xf32>
  %logits = graph.linear %n, %table contract = 1 : (tensor<2x16x8xf32>, tensor<9x8xf32>) -> tensor<2x16x9xf32>
  return %logits : tensor<2x16x9xf32>
}
