// RUN: llm-opt %s --split-input-file --verify-diagnostics --graph-build-generate-step=chunk=4

// expected-error@+1 {{has no func @forward}}
module {
}

// -----

// Softmax over positions cannot run on single ones.
func.func @forward(%x: tensor<1x4x8xf32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "hidden", "seq"]},
                   %tokens: tensor<1x8xi32> {graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]})
    -> (tensor<1x8x4xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  // expected-error@+1 {{has no form for single positions: it mixes the elements of dimension 'seq'}}
  %s = graph.softmax %x : tensor<1x4x8xf32>
  %t = graph.transpose %s [0, 2, 1] : (tensor<1x4x8xf32>) -> tensor<1x8x4xf32>
  return %t : tensor<1x8x4xf32>
}

// -----

// What is made for all positions at once says nothing of single ones.
func.func @forward(%x: tensor<1x8x4xf32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
                   %tokens: tensor<1x8xi32> {graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]})
    -> (tensor<1x8x4xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %i = graph.iota dim = 1 : tensor<1x8x4xf32>
  // expected-error@+1 {{has no form for single positions: an operand comes from no input along dimension 'seq'}}
  %s = graph.add %i, %x : (tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  return %s : tensor<1x8x4xf32>
}

// -----

// Nor can they once they are joined with another dimension.
func.func @forward(%x: tensor<1x8x4xf32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "x", graph.dims = ["batch", "seq", "hidden"]},
                   %tokens: tensor<1x8xi32> {graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]})
    -> (tensor<1x8x4xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  // expected-error@+1 {{has no form for single positions: its result has no dimension 'seq'}}
  %s = graph.reshape %x : (tensor<1x8x4xf32>) -> tensor<1x32xf32>
  %t = graph.reshape %s : (tensor<1x32xf32>) -> tensor<1x8x4xf32>
  return %t : tensor<1x8x4xf32>
}

// -----

// expected-error@+1 {{argument #0 must have graph.kind input or parameter}}
func.func @forward(%tokens: tensor<1x8xi32> {graph.dims = ["batch", "seq"]}) -> tensor<1x8xi32> {
  return %tokens : tensor<1x8xi32>
}

// -----

// expected-error@+1 {{argument #1 must be a ranked tensor}}
func.func @forward(%tokens: tensor<1x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.dims = ["batch", "seq"]}, %n: i32) -> tensor<1x8xi32> {
  return %tokens : tensor<1x8xi32>
}

// -----

// expected-error@+1 {{has no argument with graph.dims ["batch", "seq"]}}
func.func @forward(%tokens: tensor<1x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.dims = ["batch", "place"]}) -> tensor<1x8xi32> {
  return %tokens : tensor<1x8xi32>
}

// -----

// expected-error@+1 {{must return logits [batch, seq, vocab]}}
func.func @forward(%tokens: tensor<1x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.dims = ["batch", "seq"]}) -> tensor<1x8xi32> {
  return %tokens : tensor<1x8xi32>
}

// -----

// expected-error@+1 {{cannot run with batch 1, max-seq-len 2 and chunk 4: expected batch >= 1 and 1 <= chunk <= max-seq-len <= 2}}
func.func @forward(%tokens: tensor<1x2xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.dims = ["batch", "seq"]}) -> tensor<1x2xi32> {
  return %tokens : tensor<1x2xi32>
}

// -----

// expected-error@+1 {{taken name (@prefill): a function of the step is called so; rename this parameter}}
graph.parameter @prefill : tensor<16x8xf32> from [#graph.source<"w", file = [16, 8]>]
func.func @forward(%tokens: tensor<1x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %w: tensor<16x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "prefill", graph.dims = ["vocab", "hidden"]})
    -> (tensor<1x8x16xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %w, %tokens : (tensor<16x8xf32>, tensor<1x8xi32>) -> tensor<1x8x8xf32>
  %y = graph.linear %x, %w contract = 1 : (tensor<1x8x8xf32>, tensor<16x8xf32>) -> tensor<1x8x16xf32>
  return %y : tensor<1x8x16xf32>
}

// -----

// expected-error@+1 {{taken name (@decode): a function of the step is called so; rename this parameter}}
graph.parameter @decode : tensor<16x8xf32> from [#graph.source<"w", file = [16, 8]>]
func.func @forward(%tokens: tensor<1x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %w: tensor<16x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "decode", graph.dims = ["vocab", "hidden"]})
    -> (tensor<1x8x16xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %w, %tokens : (tensor<16x8xf32>, tensor<1x8xi32>) -> tensor<1x8x8xf32>
  %y = graph.linear %x, %w contract = 1 : (tensor<1x8x8xf32>, tensor<16x8xf32>) -> tensor<1x8x16xf32>
  return %y : tensor<1x8x16xf32>
}

// -----

// expected-error@+1 {{taken name (@head): a function of the step is called so; rename this parameter}}
graph.parameter @head : tensor<16x8xf32> from [#graph.source<"w", file = [16, 8]>]
func.func @forward(%tokens: tensor<1x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %w: tensor<16x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "head", graph.dims = ["vocab", "hidden"]})
    -> (tensor<1x8x16xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %w, %tokens : (tensor<16x8xf32>, tensor<1x8xi32>) -> tensor<1x8x8xf32>
  %y = graph.linear %x, %w contract = 1 : (tensor<1x8x8xf32>, tensor<16x8xf32>) -> tensor<1x8x16xf32>
  return %y : tensor<1x8x16xf32>
}

// -----

// expected-error@+1 {{argument #0 must say whether token ids or positions fill it: graph.fill = #graph.fill<token_ids> or #graph.fill<positions>}}
func.func @forward(%ids: tensor<1x8xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]}) -> tensor<1x8xi32> {
  return %ids : tensor<1x8xi32>
}

// -----

// expected-error@+1 {{argument #1 is filled with token_ids, as another argument is}}
func.func @forward(%a: tensor<1x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.dims = ["batch", "seq"]},
                   %b: tensor<1x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.dims = ["batch", "seq"]}) -> tensor<1x8xi32> {
  return %a : tensor<1x8xi32>
}

// -----

// expected-error@+1 {{has no argument that token ids fill: nothing can be generated}}
func.func @forward(%b: tensor<1x8xi32> {graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>, graph.dims = ["batch", "seq"]}) -> tensor<1x8xi32> {
  return %b : tensor<1x8xi32>
}

// -----

// expected-error@+1 {{argument #1 is a parameter with a dimension 'seq': a step takes single positions of the text; give the dimension another name and look rows up by an input that positions fill}}
func.func @forward(%tokens: tensor<1x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %table: tensor<8x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["seq", "hidden"]}) -> tensor<8x4xf32> {
  return %table : tensor<8x4xf32>
}

// -----

func.func @forward(%tokens: tensor<2x4xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %positions: tensor<2x4xi32> {graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
                   %table: tensor<9x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "hidden"]},
                   %wq: tensor<1x1x8x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "q", graph.dims = ["kv_heads", "group", "head_dim", "hidden"]},
                   %wk: tensor<1x8x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "k", graph.dims = ["kv_heads", "head_dim", "hidden"]},
                   %flag: tensor<i32> {graph.kind = #graph.kind<parameter>, graph.name = "flag"})
    -> (tensor<2x4x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %table, %tokens : (tensor<9x8xf32>, tensor<2x4xi32>) -> tensor<2x4x8xf32>
  %c = graph.compare lt %flag, %flag : (tensor<i32>, tensor<i32>) -> tensor<i1>
  // expected-error@+1 {{has an attention in a branch, where KV caches are not supported}}
  %r = graph.if %c : tensor<i1> -> (tensor<2x4x8xf32>) {
    %q = graph.linear %x, %wq contract = 1 : (tensor<2x4x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x4x1x1x8xf32>
    %k = graph.linear %x, %wk contract = 1 : (tensor<2x4x8xf32>, tensor<1x8x8xf32>) -> tensor<2x4x1x8xf32>
    %a = graph.attention %q, %k, %k, %positions scale = 0.5 : (tensor<2x4x1x1x8xf32>, tensor<2x4x1x8xf32>, tensor<2x4x1x8xf32>, tensor<2x4xi32>) -> tensor<2x4x1x1x8xf32>
    %y = graph.reshape %a : (tensor<2x4x1x1x8xf32>) -> tensor<2x4x8xf32>
    graph.branch_yield %y : tensor<2x4x8xf32>
  } else {
    graph.branch_yield %x : tensor<2x4x8xf32>
  }
  %logits = graph.linear %r, %table contract = 1 : (tensor<2x4x8xf32>, tensor<9x8xf32>) -> tensor<2x4x9xf32>
  return %logits : tensor<2x4x9xf32>
}
