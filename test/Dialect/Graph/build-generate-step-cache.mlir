// RUN: split-file %s %t
// RUN: llm-opt %t/model.mlir --graph-build-generate-step="chunk=4 cache=bf16" | FileCheck %s
// RUN: llm-opt %t/model.mlir --graph-build-generate-step="chunk=4 cache=bf16 page=6" | FileCheck %s --check-prefix=PAGES
// RUN: llm-opt %t/model.mlir --graph-build-generate-step="chunk=4 cache=f32" > %t/own
// RUN: llm-opt %t/model.mlir --graph-build-generate-step="chunk=4" | diff %t/own -
// RUN: not llm-opt %t/model.mlir --graph-build-generate-step="chunk=4 cache=i8" 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: cannot keep keys and values in i8: expected f32, bf16, f16 or q8_0
// RUN: not llm-opt %t/no-attention.mlir --graph-build-generate-step="cache=bf16" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: no-attention.mlir:{{.*}} error: keeps no keys and values, which a type of caches is for: no attention looks back at earlier positions; leave the type out

// Caches of 16 bits in a program in float32: keys and values are rounded once, on their way into the cache, and attention reads nothing but the cache: the keys of its own
// chunk as later steps will see them. What is not cached is float32 as before.
// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: tensor<3x2x16x2x4xbf16> {graph.clear = #graph.clear<before_prompts>, {{[^}]*}}graph.name = "blocks.k_cache"}
// CHECK-SAME: tensor<3x2x16x2x4xbf16> {graph.clear = #graph.clear<before_prompts>, {{[^}]*}}graph.name = "blocks.v_cache"}
// CHECK-SAME: ->
// CHECK-SAME: tensor<3x2x16x2x4xbf16> {{[^}]*}}graph.name = "blocks.v_cache"}
// CHECK: graph.repeat
// CHECK: %[[Q:.*]] = graph.linear {{.*}} -> tensor<2x4x2x1x4xf32>
// CHECK: %[[K:.*]] = graph.linear {{.*}} -> tensor<2x4x2x4xf32>
// CHECK: %[[V:.*]] = graph.linear {{.*}} -> tensor<2x4x2x4xf32>
// CHECK-NEXT: %[[NARROW_K:.*]] = graph.cast %[[K]] : (tensor<2x4x2x4xf32>) -> tensor<2x4x2x4xbf16>
// CHECK-NEXT: %[[NEW_K:.*]] = graph.cache_update %{{.*}}[%{{.*}}], %[[NARROW_K]],
// CHECK-NEXT: %[[KEYS:.*]] = graph.layer_slice %[[NEW_K]]
// CHECK-NEXT: %[[NARROW_V:.*]] = graph.cast %[[V]] : (tensor<2x4x2x4xf32>) -> tensor<2x4x2x4xbf16>
// CHECK-NEXT: %[[NEW_V:.*]] = graph.cache_update %{{.*}}[%{{.*}}], %[[NARROW_V]],
// CHECK-NEXT: %[[VALUES:.*]] = graph.layer_slice %[[NEW_V]]
// CHECK-NEXT: graph.attention %[[Q]], %[[KEYS]], %[[VALUES]], {{.*}} -> tensor<2x4x2x1x4xf32>
// CHECK-LABEL: func.func @decode(
// CHECK-SAME: tensor<3x2x16x2x4xbf16> {{[^}]*}}graph.name = "blocks.k_cache"}
// CHECK-COUNT-2: graph.cast {{.*}} -> tensor<2x1x2x4xbf16>
// CHECK: graph.attention {{.*}} -> tensor<2x1x2x1x4xf32>
// The tail computes as it did.
// CHECK-LABEL: func.func @head(
// CHECK-NOT: bf16

// PAGES-LABEL: func.func @prefill(
// PAGES-SAME: tensor<3x2x18x2x4xbf16> {{[^}]*}}graph.name = "blocks.k_cache"}
// PAGES: graph.cast {{.*}} -> tensor<2x4x2x4xbf16>
// PAGES-NEXT: graph.cache_update {{.*}} pages %{{.*}} of 6

//--- model.mlir
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

//--- no-attention.mlir
func.func @forward(%tokens: tensor<1x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %table: tensor<9x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "hidden"]})
    -> (tensor<1x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %table, %tokens : (tensor<9x8xf32>, tensor<1x8xi32>) -> tensor<1x8x8xf32>
  %logits = graph.linear %x, %table contract = 1 : (tensor<1x8x8xf32>, tensor<9x8xf32>) -> tensor<1x8x9xf32>
  return %logits : tensor<1x8x9xf32>
}
