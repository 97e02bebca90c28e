// RUN: llm-opt %s --graph-build-generate-step="chunk=16 short-chunk=2 draws" | FileCheck %s
// RUN: llm-opt %s --graph-build-generate-step="chunk=15 short-chunk=2 draws" | FileCheck %s --check-prefix=NONE
// RUN: llm-opt %s --graph-build-generate-step="chunk=16 draws" | FileCheck %s --check-prefix=NONE

// A second entry for prompts, of two positions: the same but for its size, and that @head takes nothing from it. Where the other takes fewer than
// eight times as many, it is not worth its code.
// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: tensor<2x16xi32> {{{.*}}graph.name = "tokens"}
// CHECK-SAME: -> (tensor<2x16x8xf32> {{{[^}]*}}graph.name = "hidden"}
// CHECK-LABEL: func.func @prefill_short(
// CHECK-SAME: tensor<2x2xi32> {{{.*}}graph.name = "tokens"}
// CHECK-NOT: graph.name = "hidden"
// CHECK-SAME: -> (tensor<2x1x9xf32> {graph.dims = ["batch", "seq", "vocab"], graph.gives = #graph.gives<logits>
// CHECK-SAME: attributes {graph.role = #graph.role<prompt>}
// CHECK: %[[LAST:.*]] = graph.take %{{.*}} : (tensor<2x2x8xf32>, tensor<2xi32>) -> tensor<2x1x8xf32>
// CHECK: graph.linear %{{.*}} -> tensor<2x1x9xf32>
// CHECK-LABEL: func.func @decode(
// CHECK-LABEL: func.func @head(
// CHECK: graph.fill = #graph.fill<output "hidden" of @prefill>
// NONE: func.func @prefill(
// NONE-NOT: @prefill_short

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
