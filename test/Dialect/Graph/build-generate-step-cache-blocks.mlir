// RUN: llm-opt %s --graph-build-generate-step="chunk=4 cache=q8_0" | FileCheck %s
// RUN: not llm-opt %s --graph-build-generate-step="chunk=4 cache=q8_0 page=6" 2>&1 | FileCheck %s --check-prefix=PAGES
// PAGES: error: keeps keys and values in pages, which are in no blocks; choose bf16 or f16
// RUN: sed 's/x32x/x24x/g; s/x32xf32/x24xf32/g' %s | not llm-opt - --graph-build-generate-step="chunk=4 cache=q8_0" 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: has rows of 24 elements to keep, which are no whole blocks of 32; choose bf16 or f16

// Caches in blocks have the type that they are read in, and say that they are held so; what is written is rounded by the update, and attention reads nothing but the cache.
// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: tensor<3x2x16x2x32xf32> {graph.clear = #graph.clear<before_prompts>, {{[^}]*}}graph.held = "Q8_0", {{[^}]*}}graph.name = "blocks.k_cache"}
// CHECK-SAME: tensor<3x2x16x2x32xf32> {graph.clear = #graph.clear<before_prompts>, {{[^}]*}}graph.held = "Q8_0", {{[^}]*}}graph.name = "blocks.v_cache"}
// CHECK-SAME: ->
// CHECK-SAME: tensor<3x2x16x2x32xf32> {{[^}]*}}graph.held = "Q8_0", {{[^}]*}}graph.name = "blocks.v_cache"}
// CHECK: graph.repeat
// CHECK: %[[K:.*]] = graph.linear {{.*}} -> tensor<2x4x2x32xf32>
// CHECK: %[[V:.*]] = graph.linear {{.*}} -> tensor<2x4x2x32xf32>
// CHECK-NEXT: %[[NEW_K:.*]] = graph.cache_update %{{.*}}[%{{.*}}], %[[K]], %{{.*}} {graph.held = "Q8_0"}
// CHECK-NEXT: %[[KEYS:.*]] = graph.layer_slice %[[NEW_K]]
// CHECK-NEXT: %[[NEW_V:.*]] = graph.cache_update %{{.*}}[%{{.*}}], %[[V]], %{{.*}} {graph.held = "Q8_0"}
// CHECK-NEXT: %[[VALUES:.*]] = graph.layer_slice %[[NEW_V]]
// CHECK-NEXT: graph.attention %{{.*}}, %[[KEYS]], %[[VALUES]],
// CHECK-LABEL: func.func @decode(
// CHECK-SAME: tensor<3x2x16x2x32xf32> {{[^}]*}}graph.held = "Q8_0", {{[^}]*}}graph.name = "blocks.k_cache"}
// CHECK-COUNT-2: graph.cache_update {{.*}} {graph.held = "Q8_0"}
// The tail keeps nothing.
// CHECK-LABEL: func.func @head(
// CHECK-NOT: Q8_0

func.func @forward(%tokens: tensor<2x16xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %positions: tensor<2x16xi32> {graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
                   %table: tensor<9x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "hidden"]},
                   %wq: tensor<3x2x1x32x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "blocks.q", graph.dims = ["layer", "kv_heads", "group", "head_dim", "hidden"]},
                   %wk: tensor<3x2x32x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "blocks.k", graph.dims = ["layer", "kv_heads", "head_dim", "hidden"]},
                   %wo: tensor<3x8x2x1x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "blocks.o", graph.dims = ["layer", "hidden", "kv_heads", "group", "head_dim"]},
                   %norm: tensor<8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "norm", graph.dims = ["hidden"]})
    -> (tensor<2x16x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %table, %tokens : (tensor<9x8xf32>, tensor<2x16xi32>) -> tensor<2x16x8xf32>
  %r = graph.repeat 3 carry(%x : tensor<2x16x8xf32>)
      stack(%wq, %wk, %wo : tensor<3x2x1x32x8xf32>, tensor<3x2x32x8xf32>, tensor<3x8x2x1x32xf32>) -> (tensor<2x16x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<2x16x8xf32>, %q_: tensor<2x1x32x8xf32>, %k_: tensor<2x32x8xf32>, %o_: tensor<8x2x1x32xf32>):
    %q = graph.linear %h, %q_ contract = 1 : (tensor<2x16x8xf32>, tensor<2x1x32x8xf32>) -> tensor<2x16x2x1x32xf32>
    %k = graph.linear %h, %k_ contract = 1 : (tensor<2x16x8xf32>, tensor<2x32x8xf32>) -> tensor<2x16x2x32xf32>
    %v = graph.linear %h, %k_ contract = 1 : (tensor<2x16x8xf32>, tensor<2x32x8xf32>) -> tensor<2x16x2x32xf32>
    %a = graph.attention %q, %k, %v, %positions scale = 0.5 : (tensor<2x16x2x1x32xf32>, tensor<2x16x2x32xf32>, tensor<2x16x2x32xf32>, tensor<2x16xi32>) -> tensor<2x16x2x1x32xf32>
    %y = graph.linear %a, %o_ contract = 3 : (tensor<2x16x2x1x32xf32>, tensor<8x2x1x32xf32>) -> tensor<2x16x8xf32>
    %z = graph.add %h, %y : (tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
    graph.yield %z : tensor<2x16x8xf32>
  }
  %n = graph.rms_norm %r, %norm eps = 1.0e-5 : (tensor<2x16x8xf32>, tensor<8xf32>) -> tensor<2x16x8xf32>
  %logits = graph.linear %n, %table contract = 1 : (tensor<2x16x8xf32>, tensor<9x8xf32>) -> tensor<2x16x9xf32>
  return %logits : tensor<2x16x9xf32>
}
