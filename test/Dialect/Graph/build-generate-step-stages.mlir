// Entries of a pipeline's stages: what is received and sent, caches of the own layers that each group of rows has for itself, and rows that the host says.
// RUN: llm-opt %s "--pass-pipeline=builtin.module(graph-cut-stages{stages=1,2,0},builtin.module(graph-build-generate-step{batch=3 chunk=4 page=2 draws=true}))" | FileCheck %s

// CHECK-LABEL: module @stage0 attributes {graph.generate = #graph.generate<batch = 3, chunk = 4, max_seq_len = 16, vocab = 9>
// CHECK-LABEL: func.func @prefill(
// CHECK-NOT: last_index
// CHECK-SAME: tensor<3x4xi32> {{[^}]*}}graph.fill = #graph.fill<token_ids>
// CHECK-SAME: tensor<3x4xi32> {{[^}]*}}graph.fill = #graph.fill<positions>
// CHECK-SAME: %[[KC:[a-z0-9]+]]: tensor<1x3x16x2x4xf32> {graph.clear = #graph.clear<before_prompts>, {{[^}]*}}graph.name = "blocks.k_cache", graph.slot = #graph.slot<whole>}
// CHECK-SAME: tensor<3x8xi32> {{[^}]*}}graph.name = "pages", graph.slot = #graph.slot<whole>}
// CHECK-NOT: next_tokens
// CHECK-SAME: -> (tensor<3x4x8xf32> {graph.dims = ["batch", "seq", "hidden"], graph.gives = #graph.gives<sent>, graph.kind = #graph.kind<output>, graph.name = "[[VALUE:[a-z0-9]+]]"}
// CHECK-SAME: tensor<1x3x16x2x4xf32> {{[^}]*}}graph.name = "blocks.k_cache", graph.slot = #graph.slot<whole>}
// CHECK-SAME: attributes {graph.role = #graph.role<prompt>, graph.stage_part = #graph.stage_part<forward>}
// CHECK: graph.repeat 1 carry
// CHECK-NOT: graph.take
// CHECK-LABEL: func.func @decode(
// CHECK-SAME: tensor<3x1xi32> {{[^}]*}}graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>
// CHECK-SAME: tensor<3x1x8xf32> {{[^}]*}}graph.gives = #graph.gives<sent>, {{[^}]*}}graph.name = "[[VALUE]]"}
// CHECK-SAME: attributes {graph.role = #graph.role<next>, graph.stage_part = #graph.stage_part<forward>}
// CHECK-NOT: @head
// CHECK-NOT: @sample

// The caches' layers are the stage's own, what bodies compute with is the number in the model.
// CHECK-LABEL: module @stage1
// CHECK-LABEL: func.func @prefill(
// CHECK-NOT: token_ids
// CHECK-SAME: tensor<3x4x8xf32> {{[^}]*}}graph.fill = #graph.fill<received>, graph.kind = #graph.kind<input>, graph.name = "[[VALUE]]"}
// CHECK-SAME: %[[FIRST:[a-z0-9]+]]: tensor<i32> {{[^}]*}}graph.fill = #graph.fill<first_layer>
// CHECK-SAME: tensor<2x3x16x2x4xf32> {{[^}]*}}graph.name = "blocks.k_cache", graph.slot = #graph.slot<whole>}
// CHECK: ^bb0(%[[I:[a-z0-9]+]]: tensor<i32>
// CHECK: graph.add %[[I]], %[[FIRST]]
// CHECK: graph.cache_update %{{[a-z0-9]+}}[%[[I]]]
// CHECK-LABEL: func.func @decode(

// The last one has no layers and no caches; it chooses. What it draws with belongs to rows where rows have their own.
// CHECK-LABEL: module @stage2
// CHECK-LABEL: func.func @prefill(
// CHECK-NOT: k_cache
// CHECK-SAME: tensor<3x4x8xf32> {{[^}]*}}#graph.fill<received>
// CHECK-SAME: tensor<3xi32> {{[^}]*}}#graph.fill<last_index>
// CHECK-SAME: tensor<3x4x8xf32> {{[^}]*}}graph.name = "hidden"}
// CHECK-SAME: tensor<3x1x9xf32> {{[^}]*}}#graph.gives<logits>
// CHECK-SAME: attributes {graph.role = #graph.role<prompt>, graph.stage_part = #graph.stage_part<forward>}
// CHECK-LABEL: func.func @head(
// CHECK-SAME: attributes {graph.role = #graph.role<logits>}
// CHECK-LABEL: func.func @sample(
// CHECK-SAME: graph.name = "draw_prompts", graph.slot = #graph.slot<whole>}
// CHECK-SAME: graph.name = "draw_starts", graph.slot = #graph.slot<whole>}
// CHECK-SAME: graph.name = "draw_seed"}
// CHECK-SAME: graph.name = "draw_seen", graph.slot = #graph.slot<whole>}
// CHECK-SAME: graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>
graph.parameter @table : tensor<9x8xf32> from [#graph.source<"table", file = [9, 8]>]
graph.parameter @blocks.q : tensor<3x2x1x4x8xf32> stacked from [#graph.source<"q{}", file = [2, 1, 4, 8]>]
graph.parameter @blocks.k : tensor<3x2x4x8xf32> stacked from [#graph.source<"k{}", file = [2, 4, 8]>]
graph.parameter @blocks.o : tensor<3x8x2x1x4xf32> stacked from [#graph.source<"o{}", file = [8, 2, 1, 4]>]
graph.parameter @norm : tensor<8xf32> from [#graph.source<"norm", file = [8]>]
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
    %layer = graph.cast %i : (tensor<i32>) -> tensor<f32>
    %s = graph.add %y, %layer : (tensor<2x16x8xf32>, tensor<f32>) -> tensor<2x16x8xf32>
    %z = graph.add %h, %s : (tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
    graph.yield %z : tensor<2x16x8xf32>
  }
  %n = graph.rms_norm %r, %norm eps = 1.0e-5 : (tensor<2x16x8xf32>, tensor<8xf32>) -> tensor<2x16x8xf32>
  %logits = graph.linear %n, %table contract = 1 : (tensor<2x16x8xf32>, tensor<9x8xf32>) -> tensor<2x16x9xf32>
  return %logits : tensor<2x16x9xf32>
}
