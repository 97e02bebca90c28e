// RUN: llm-opt %s --split-input-file --graph-build-generate-step="chunk=4 draws" | FileCheck %s
// RUN: llm-opt %s --split-input-file --graph-build-generate-step="chunk=4" | FileCheck %s --check-prefix=GREEDY
// GREEDY-NOT: @sample

// An entry of its own draws from the logits of the one before, where those lie, and puts the tokens into the rows of the next step. How it draws are states that it
// leaves as they are, and whose names are nobody else's.

// CHECK-LABEL: func.func @sample(
// CHECK-SAME: %[[LOGITS:[a-z0-9]+]]: tensor<2x1x9xf32> {graph.dims = ["batch", "seq", "vocab"], graph.fill = #graph.fill<logits>, graph.kind = #graph.kind<input>, graph.name = "logits"}
// CHECK-SAME: %[[PROMPT:[a-z0-9]+]]: tensor<2x1xi32> {graph.dims = ["batch", "seq"], graph.fill = #graph.fill<prompt_numbers>, graph.kind = #graph.kind<state>, graph.name = "draw_prompts"}
// CHECK-SAME: %[[START:[a-z0-9]+]]: tensor<2x1xi32> {graph.dims = ["batch", "seq"], graph.fill = #graph.fill<prompt_lengths>, graph.kind = #graph.kind<state>, graph.name = "draw_starts"}
// CHECK-SAME: %[[SEED:[a-z0-9]+]]: tensor<i64> {graph.fill = #graph.fill<seed>, graph.kind = #graph.kind<state>, graph.name = "draw_seed_1"}
// CHECK-SAME: %[[T:[a-z0-9]+]]: tensor<f64> {graph.fill = #graph.fill<temperature>
// CHECK-SAME: %[[K:[a-z0-9]+]]: tensor<i32> {graph.fill = #graph.fill<top_k>
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<f64> {graph.fill = #graph.fill<top_p>
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<f64> {graph.fill = #graph.fill<min_p>
// CHECK-SAME: %[[PENALTY:[a-z0-9]+]]: tensor<f32> {graph.fill = #graph.fill<repeat_penalty>
// CHECK-SAME: %[[SEEN:[a-z0-9]+]]: tensor<2x1x9xi32> {graph.dims = ["batch", "seq", "vocab"], graph.fill = #graph.fill<seen_tokens>, graph.kind = #graph.kind<state>, graph.name = "draw_seen"}
// CHECK-SAME: %[[TOKENS:[a-z0-9]+]]: tensor<2x1xi32> {{[^}]*}}graph.name = "next_tokens"}
// CHECK-SAME: %[[POS:[a-z0-9]+]]: tensor<2x1xi32> {{[^}]*}}graph.name = "next_positions"}
// CHECK-SAME: %[[ENDS:[a-z0-9]+]]: tensor<8xi32> {graph.dims = ["end"], graph.fill = #graph.fill<drawn_end_tokens>, graph.kind = #graph.kind<state>, graph.name = "draw_end_tokens"}
// CHECK-SAME: -> (tensor<2x1xi32> {graph.dims = ["batch", "seq"], graph.gives = #graph.gives<next_tokens>, graph.kind = #graph.kind<output>, graph.name = "next"}
// CHECK-SAME: attributes {graph.role = #graph.role<draw>}
// The number of a row's token is its position less where its prompt ends.
// CHECK: %[[COUNT:.*]] = graph.sub %[[POS]], %[[START]]
// Logits of tokens that the text has are divided by the penalty above 0 and multiplied below.
// CHECK: %[[LESS:.*]] = graph.div %[[LOGITS]], %[[PENALTY]]
// CHECK: %[[MORE:.*]] = graph.mul %[[LOGITS]], %[[PENALTY]]
// CHECK: %[[ABOVE:.*]] = graph.compare ge %[[LOGITS]]
// CHECK: %[[CHANGED:.*]] = graph.select %[[ABOVE]], %[[LESS]], %[[MORE]]
// CHECK: %[[ISSEEN:.*]] = graph.compare ge %[[SEEN]]
// CHECK: %[[SCORES:.*]] = graph.select %[[ISSEEN]], %[[CHANGED]], %[[LOGITS]]
// CHECK: %[[ID:.*]] = graph.draw %[[SCORES]], %[[PROMPT]], %[[COUNT]] seed = %[[SEED]] temperature = %[[T]] top_k = %[[K]] top_p = %[[P]] min_p = %[[M]]
// What was drawn is seen from then on, in rows that draw and are not inert.
// CHECK: %[[NONE:.*]] = graph.constant dense<-1>
// CHECK: %[[DRAWS:.*]] = graph.compare ge %[[START]]
// CHECK: %[[ID1:.*]] = graph.select %[[DRAWS]], %[[ID]], %[[NONE]]
// CHECK: %[[THERE:.*]] = graph.compare ge %[[POS]]
// CHECK: %[[ID2:.*]] = graph.select %[[THERE]], %[[ID1]], %[[NONE]]
// CHECK: %[[ROW:.*]] = graph.broadcast %[[ID2]] dims = [0, 1]
// CHECK: %[[IDS:.*]] = graph.iota
// CHECK: %[[ISNEW:.*]] = graph.compare eq %[[ROW]], %[[IDS]]
// CHECK: %[[SEEN1:.*]] = graph.select %[[ISNEW]], %{{.*}}, %[[SEEN]]
// A row that has no start, or is inert, keeps what it has; one without an id, or whose id ends the text, is inert from then on.
// CHECK: %[[INERT:.*]] = graph.constant dense<-1>
// CHECK: %[[STARTED:.*]] = graph.compare ge %[[START]]
// CHECK: %[[AT:.*]] = graph.select %[[STARTED]], %[[POS]], %[[INERT]]
// CHECK: %[[DRAWN:.*]] = graph.compare ge %[[AT]]
// CHECK: %[[TOKEN:.*]] = graph.maximum %[[ID]]
// CHECK: %[[ISID:.*]] = graph.compare ge %[[ID]]
// CHECK: %[[VALID:.*]] = graph.select %[[ISID]], %[[AT]], %[[INERT]]
// CHECK: %[[WIDE:.*]] = graph.broadcast %[[ID]] dims = [0, 1]
// CHECK: %[[EQUAL:.*]] = graph.compare eq %[[WIDE]], %[[ENDS]]
// CHECK: %[[HITS:.*]] = graph.select %[[EQUAL]]
// CHECK: %[[HIT:.*]] = graph.reduce max %[[HITS]] dims = [2]
// CHECK: %[[GOESON:.*]] = graph.compare eq %[[HIT]]
// CHECK: %[[NEXT:.*]] = graph.select %[[GOESON]], %[[VALID]], %[[INERT]]
// CHECK: %[[TOKENS1:.*]] = graph.select %[[DRAWN]], %[[TOKEN]], %[[TOKENS]]
// CHECK: %[[POS1:.*]] = graph.select %[[DRAWN]], %[[NEXT]], %[[POS]]
// CHECK: return %[[ID]], %[[SEEN1]], %[[TOKENS1]], %[[POS1]]
func.func @forward(%tokens: tensor<2x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %positions: tensor<2x8xi32> {graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
                   %w: tensor<9x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "draw_seed", graph.dims = ["vocab", "hidden"]},
                   %p: tensor<8x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "places", graph.dims = ["place", "hidden"]})
    -> (tensor<2x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %w, %tokens : (tensor<9x8xf32>, tensor<2x8xi32>) -> tensor<2x8x8xf32>
  %y = graph.embedding %p, %positions : (tensor<8x8xf32>, tensor<2x8xi32>) -> tensor<2x8x8xf32>
  %z = graph.add %x, %y : (tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %logits = graph.linear %z, %w contract = 1 : (tensor<2x8x8xf32>, tensor<9x8xf32>) -> tensor<2x8x9xf32>
  return %logits : tensor<2x8x9xf32>
}

// -----

// Where nothing keeps the rows the caller says at which positions the tokens stand.

// CHECK-LABEL: func.func @sample(
// CHECK-SAME: %[[POS:[a-z0-9]+]]: tensor<2x1xi32> {graph.dims = ["batch", "seq"], graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>, graph.name = "draw_positions"})
// CHECK: %[[COUNT:.*]] = graph.sub %[[POS]]
// CHECK: %[[ID:.*]] = graph.draw %{{.*}}, %{{.*}}, %[[COUNT]] seed
// CHECK: %[[SEEN:.*]] = graph.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x1x9xi1>
// CHECK-NEXT: return %[[ID]], %[[SEEN]] : tensor<2x1xi32>, tensor<2x1x9xi32>
func.func @forward(%tokens: tensor<2x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %w: tensor<9x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "hidden"]})
    -> (tensor<2x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %w, %tokens : (tensor<9x8xf32>, tensor<2x8xi32>) -> tensor<2x8x8xf32>
  %logits = graph.linear %x, %w contract = 1 : (tensor<2x8x8xf32>, tensor<9x8xf32>) -> tensor<2x8x9xf32>
  return %logits : tensor<2x8x9xf32>
}
