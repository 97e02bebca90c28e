// RUN: llm-opt %s --split-input-file --graph-build-generate-step=chunk=4 | FileCheck %s

// Inside a repeat: one stacked cache each for keys and values, carried through the loop; the norm and the head, which do not mix
// positions, run for one position per row.

// The program says what its entries are for, what fills their inputs, what they give and when caches are cleared.
// CHECK: module attributes {graph.generate = #graph.generate<batch = 2, chunk = 4, max_seq_len = 16, vocab = 9>}
// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: %[[TOKENS:[a-z0-9]+]]: tensor<2x4xi32> {graph.dims = ["batch", "seq"], graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens"}
// CHECK-SAME: %[[POS:[a-z0-9]+]]: tensor<2x4xi32> {{[^}]*}}graph.fill = #graph.fill<positions>
// CHECK-SAME: %[[INDEX:[a-z0-9]+]]: tensor<2xi32> {graph.dims = ["batch"], graph.fill = #graph.fill<last_index>, graph.kind = #graph.kind<input>, graph.name = "index"}
// CHECK-SAME: %[[KC:[a-z0-9]+]]: tensor<3x2x16x2x4xf32> {graph.clear = #graph.clear<before_prompts>, graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"], graph.kind = #graph.kind<state>, graph.name = "blocks.k_cache"}
// CHECK-SAME: %[[VC:[a-z0-9]+]]: tensor<3x2x16x2x4xf32> {{[^}]*}}graph.name = "blocks.v_cache"}
// CHECK-SAME: -> (tensor<2x4x8xf32> {graph.dims = ["batch", "seq", "hidden"], graph.kind = #graph.kind<output>, graph.name = "hidden"}
// CHECK-SAME: tensor<2x1x9xf32> {graph.dims = ["batch", "seq", "vocab"], graph.gives = #graph.gives<logits>, graph.kind = #graph.kind<output>, graph.name = "logits"}
// CHECK-SAME: tensor<2x1xi32> {{[^}]*}}graph.gives = #graph.gives<next_tokens>, {{[^}]*}}graph.name = "next"}
// CHECK-SAME: tensor<3x2x16x2x4xf32> {{[^}]*}}graph.kind = #graph.kind<state>, graph.name = "blocks.k_cache"}
// CHECK-SAME: attributes {graph.role = #graph.role<prompt>}
// CHECK: %[[R:.*]]:3 = graph.repeat 3 carry(%{{.*}}, %[[KC]], %[[VC]]
// CHECK: ^bb0(%[[I:[a-z0-9]+]]: tensor<i32>, %[[H:[a-z0-9]+]]: tensor<2x4x8xf32>, %[[K0:[a-z0-9]+]]: tensor<3x2x16x2x4xf32>, %[[V0:[a-z0-9]+]]: tensor<3x2x16x2x4xf32>
// CHECK: graph.linear
// CHECK: %[[K:.*]] = graph.linear
// CHECK: %[[V:.*]] = graph.linear
// CHECK: %[[K1:.*]] = graph.cache_update %[[K0]][%[[I]]], %[[K]], %[[POS]]
// CHECK: %[[KL:.*]] = graph.layer_slice %[[K1]][%[[I]]]
// CHECK: %[[V1:.*]] = graph.cache_update %[[V0]][%[[I]]], %[[V]], %[[POS]]
// CHECK: %[[VL:.*]] = graph.layer_slice %[[V1]][%[[I]]]
// CHECK: graph.attention %{{.*}}, %[[KL]], %[[VL]], %[[POS]]
// CHECK: graph.yield %{{.*}}, %[[K1]], %[[V1]]
// CHECK: %[[ONE:.*]] = graph.take %[[R]]#0, %[[INDEX]]
// CHECK: %[[N:.*]] = graph.rms_norm %[[ONE]]
// CHECK: %[[LOGITS:.*]] = graph.linear %[[N]]
// CHECK: %[[KEY:.*]] = graph.arg_max_key %[[LOGITS]]
// CHECK: %[[NEXT:.*]] = graph.arg_max_index %[[KEY]]

// Rows whose prompt ends in this chunk are ready for the next step; others stay as they were.
// CHECK-DAG: %[[AT:.*]] = graph.take %[[POS]], %[[INDEX]] : (tensor<2x4xi32>, tensor<2xi32>) -> tensor<2x1xi32>
// CHECK-DAG: %[[TOKEN:.*]] = graph.maximum %[[NEXT]]
// CHECK: %[[HERE:.*]] = graph.compare ge %[[AT]]
// CHECK: %[[TOKENS1:.*]] = graph.select %[[HERE]], %[[TOKEN]], %[[TOKENS0:arg[0-9]+]]
// CHECK: %[[POS1:.*]] = graph.select %[[HERE]], %{{.*}}, %[[POS0:arg[0-9]+]]
// CHECK: return %[[R]]#0, %[[LOGITS]], %[[NEXT]], %[[R]]#1, %[[R]]#2, %[[TOKENS1]], %[[POS1]]

// What a step takes it finds where the one before left it: a token one position on, -1 where the row was inert, at the end of the context
// where no token was chosen, and behind an end token, which is given out like any other.
// CHECK-LABEL: func.func @decode(
// CHECK-NOT: graph.kind<input>
// CHECK-SAME: %[[TOKENS0:[a-z0-9]+]]: tensor<2x1xi32> {graph.dims = ["batch", "seq"], graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<state>, graph.name = "next_tokens"}
// CHECK-SAME: %[[POS0:[a-z0-9]+]]: tensor<2x1xi32> {graph.dims = ["batch", "seq"], graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<state>, graph.name = "next_positions"}
// CHECK-SAME: %[[ENDS:[a-z0-9]+]]: tensor<8xi32> {graph.dims = ["end"], graph.fill = #graph.fill<end_tokens>, graph.kind = #graph.kind<state>, graph.name = "end_tokens"}
// CHECK-SAME: attributes {graph.role = #graph.role<next>}
// CHECK: graph.embedding %{{.*}}, %[[TOKENS0]]
// CHECK: graph.repeat 3 carry(%{{.*}} : tensor<2x1x8xf32>, tensor<3x2x16x2x4xf32>, tensor<3x2x16x2x4xf32>)
// CHECK-NOT: graph.take
// CHECK: graph.rms_norm {{.*}} -> tensor<2x1x8xf32>
// CHECK: %[[NEXT:.*]] = graph.arg_max_index
// CHECK: %[[INERT:.*]] = graph.constant dense<-1>
// CHECK: %[[P1:.*]] = graph.add %[[POS0]]
// CHECK: %[[END:.*]] = graph.constant dense<16>
// CHECK: %[[INSIDE:.*]] = graph.compare lt %[[P1]], %[[END]]
// CHECK: %[[P2:.*]] = graph.select %[[INSIDE]], %[[P1]], %[[INERT]]
// CHECK: %[[ALIVE:.*]] = graph.compare ge %[[POS0]]
// CHECK: %[[P3:.*]] = graph.select %[[ALIVE]], %[[P2]], %[[INERT]]
// CHECK: %[[CHOSEN:.*]] = graph.compare ge %[[NEXT]]
// CHECK: %[[P4:.*]] = graph.select %[[CHOSEN]], %[[P3]], %[[INERT]]
// CHECK: %[[WIDE:.*]] = graph.broadcast %[[NEXT]] dims = [0, 1]
// CHECK: %[[EQUAL:.*]] = graph.compare eq %[[WIDE]], %[[ENDS]] : (tensor<2x1x8xi32>, tensor<8xi32>) -> tensor<2x1x8xi1>
// CHECK: %[[HITS:.*]] = graph.select %[[EQUAL]]
// CHECK: %[[HIT:.*]] = graph.reduce max %[[HITS]] dims = [2]
// CHECK: %[[GOESON:.*]] = graph.compare eq %[[HIT]]
// CHECK: %[[P5:.*]] = graph.select %[[GOESON]], %[[P4]], %[[INERT]]
// CHECK: %[[TOKENS1:.*]] = graph.maximum %[[NEXT]]
// CHECK: return %{{.*}}, %[[NEXT]], %{{.*}}, %[[TOKENS1]], %[[P5]]

// CHECK-LABEL: func.func @head(
// CHECK-SAME: tensor<2x4x8xf32> {{[^%]*}}graph.fill = #graph.fill<output "hidden" of @prefill>, {{[^%]*}}graph.name = "hidden"}
// CHECK-SAME: tensor<2xi32>
// CHECK-NOT: graph.kind = #graph.kind<state>
// CHECK: graph.take
// CHECK-NEXT: graph.rms_norm
// CHECK-NEXT: graph.linear
// CHECK-NEXT: graph.arg_max_key
// CHECK-NEXT: graph.arg_max_index
// CHECK-NEXT: return
// CHECK-NOT: @forward
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

// -----

// Outside of a repeat the cache has one layer. What the tail computes from weights alone is not run per position, and @head has it too.

// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: %[[KC:[a-z0-9]+]]: tensor<1x1x8x2x4xf32> {{[^}]*}}graph.name = "k_cache"}
// CHECK: %[[ZERO:.*]] = graph.constant dense<0> : tensor<i32>
// CHECK: graph.cache_update %[[KC]][%[[ZERO]]]
// CHECK: graph.transpose
// CHECK: graph.take
// CHECK-LABEL: func.func @head(
// CHECK: graph.take
// CHECK: graph.transpose
// CHECK: graph.linear
func.func @forward(%tokens: tensor<1x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %positions: tensor<1x8xi32> {graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
                   %table: tensor<9x2x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "kv_heads", "head_dim"]},
                   %w: tensor<2x4x9xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["kv_heads", "head_dim", "vocab"]})
    -> (tensor<1x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %table, %tokens : (tensor<9x2x4xf32>, tensor<1x8xi32>) -> tensor<1x8x2x4xf32>
  %q = graph.reshape %x : (tensor<1x8x2x4xf32>) -> tensor<1x8x2x1x4xf32>
  %a = graph.attention %q, %x, %x, %positions scale = 0.5 : (tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8xi32>) -> tensor<1x8x2x1x4xf32>
  %f = graph.reshape %a : (tensor<1x8x2x1x4xf32>) -> tensor<1x8x2x4xf32>
  %t = graph.transpose %w [2, 0, 1] : (tensor<2x4x9xf32>) -> tensor<9x2x4xf32>
  %logits = graph.linear %f, %t contract = 2 : (tensor<1x8x2x4xf32>, tensor<9x2x4xf32>) -> tensor<1x8x9xf32>
  return %logits : tensor<1x8x9xf32>
}

// -----

// Two bodies: attentions at the same place with equal types share one cache, whose layer is the iteration.

// CHECK-LABEL: func.func @decode(
// CHECK-SAME: %[[KC:[a-z0-9]+]]: tensor<4x1x8x2x4xf32> {{[^}]*}}graph.name = "layers.k_cache"}
// CHECK-SAME: %[[VC:[a-z0-9]+]]: tensor<4x1x8x2x4xf32> {{[^}]*}}graph.name = "layers.v_cache"}
// CHECK: graph.repeat 4 carry(%{{.*}}, %[[KC]], %[[VC]]
// CHECK: window = 3
// CHECK: graph.yield
// CHECK: ^bb0(%[[I:[a-z0-9]+]]: tensor<i32>, %{{[a-z0-9]+}}: tensor<1x1x2x4xf32>, %[[K0:[a-z0-9]+]]: tensor<4x1x8x2x4xf32>
// CHECK: graph.cache_update %[[K0]][%[[I]]]
// CHECK-LABEL: func.func @head(
func.func @forward(%tokens: tensor<1x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %positions: tensor<1x8xi32> {graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
                   %table: tensor<9x2x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "kv_heads", "head_dim"]})
    -> (tensor<1x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %table, %tokens : (tensor<9x2x4xf32>, tensor<1x8xi32>) -> tensor<1x8x2x4xf32>
  %r = graph.repeat 4 carry(%x : tensor<1x8x2x4xf32>) -> (tensor<1x8x2x4xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<1x8x2x4xf32>):
    %q = graph.reshape %h : (tensor<1x8x2x4xf32>) -> tensor<1x8x2x1x4xf32>
    %a = graph.attention %q, %h, %h, %positions scale = 0.5 {window = 3 : i64} : (tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8xi32>) -> tensor<1x8x2x1x4xf32>
    %f = graph.reshape %a : (tensor<1x8x2x1x4xf32>) -> tensor<1x8x2x4xf32>
    graph.yield %f : tensor<1x8x2x4xf32>
  }, {
  ^bb0(%i: tensor<i32>, %h: tensor<1x8x2x4xf32>):
    %q = graph.reshape %h : (tensor<1x8x2x4xf32>) -> tensor<1x8x2x1x4xf32>
    %a = graph.attention %q, %h, %h, %positions scale = 0.5 : (tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8xi32>) -> tensor<1x8x2x1x4xf32>
    %f = graph.reshape %a : (tensor<1x8x2x1x4xf32>) -> tensor<1x8x2x4xf32>
    graph.yield %f : tensor<1x8x2x4xf32>
  }
  %logits = graph.linear %r, %table contract = 2 : (tensor<1x8x2x4xf32>, tensor<9x2x4xf32>) -> tensor<1x8x9xf32>
  return %logits : tensor<1x8x9xf32>
}
