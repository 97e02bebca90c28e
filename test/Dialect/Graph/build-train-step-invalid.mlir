// RUN: llm-opt %s --split-input-file --verify-diagnostics --graph-build-train-step
// RUN: not llm-opt %test_dir/Dialect/Graph/build-train-step.mlir --graph-build-train-step="optimizer=adam" 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// RUN: not llm-opt %test_dir/Dialect/Graph/build-train-step.mlir --graph-build-train-step="batch=2 micro-batches=3" 2>&1 | FileCheck %s --check-prefix=MICRO
// RUN: not llm-opt %test_dir/Dialect/Graph/build-train-step.mlir --graph-build-train-step="max-seq-len=9" 2>&1 | FileCheck %s --check-prefix=SEQ
// OPTIMIZER: cannot be trained with optimizer adam: it is none of adamw, sgd
// MICRO: cannot run 2 rows in 3 micro-batches: expected at least one row in each
// SEQ: cannot run rows of 9 positions: expected 1 to 8, the size of 'seq'

// expected-error@+1 {{has no func @forward}}
module {
}

// -----

// Nothing says where the weight comes from.
// expected-error@+1 {{argument #1 is a parameter, but there is no graph.parameter @w that says where it comes from}}
func.func @forward(%tokens: tensor<2x8xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"], graph.fill = #graph.fill<token_ids>},
    %w: tensor<9x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["vocab", "hidden"]})
    -> (tensor<2x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %w, %tokens : (tensor<9x6xf32>, tensor<2x8xi32>) -> tensor<2x8x6xf32>
  %l = graph.linear %x, %w contract = 1 : (tensor<2x8x6xf32>, tensor<9x6xf32>) -> tensor<2x8x9xf32>
  return %l : tensor<2x8x9xf32>
}

// -----

graph.parameter @w : tensor<9x6xbf16> from [#graph.source<"w", file = [9, 6]>]
// expected-error@+1 {{argument #1 (w) is a weight of 'bf16'; weights are trained in f32 so far}}
func.func @forward(%tokens: tensor<2x8xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"], graph.fill = #graph.fill<token_ids>},
    %w: tensor<9x6xbf16> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["vocab", "hidden"]})
    -> (tensor<2x8x9xbf16> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %w, %tokens : (tensor<9x6xbf16>, tensor<2x8xi32>) -> tensor<2x8x6xbf16>
  %l = graph.linear %x, %w contract = 1 : (tensor<2x8x6xbf16>, tensor<9x6xbf16>) -> tensor<2x8x9xbf16>
  return %l : tensor<2x8x9xbf16>
}

// -----

// Half of it would decay.
// expected-error@+1 {{comes from tensors of one dimension and of more: weight decay is for the latter alone; make it two parameters}}
graph.parameter @w : tensor<9x6xf32> from [#graph.source<"a", file = [8, 6]>, #graph.source<"b", file = [6], reshape = [1, 6]>]
func.func @forward(%tokens: tensor<2x8xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"], graph.fill = #graph.fill<token_ids>},
    %w: tensor<9x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["vocab", "hidden"]})
    -> (tensor<2x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %w, %tokens : (tensor<9x6xf32>, tensor<2x8xi32>) -> tensor<2x8x6xf32>
  %l = graph.linear %x, %w contract = 1 : (tensor<2x8x6xf32>, tensor<9x6xf32>) -> tensor<2x8x9xf32>
  return %l : tensor<2x8x9xf32>
}

// -----

graph.parameter @w : tensor<9x6xf32> from [#graph.source<"w", file = [9, 6]>]
// expected-error@+1 {{argument #0 must say whether token ids or positions fill it}}
func.func @forward(%tokens: tensor<2x8xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
    %w: tensor<9x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["vocab", "hidden"]})
    -> (tensor<2x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %w, %tokens : (tensor<9x6xf32>, tensor<2x8xi32>) -> tensor<2x8x6xf32>
  %l = graph.linear %x, %w contract = 1 : (tensor<2x8x6xf32>, tensor<9x6xf32>) -> tensor<2x8x9xf32>
  return %l : tensor<2x8x9xf32>
}

// -----

graph.parameter @w : tensor<9x6xf32> from [#graph.source<"w", file = [9, 6]>]
// expected-error@+1 {{has no argument that token ids fill: nothing can be trained on}}
func.func @forward(%tokens: tensor<2x8xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"], graph.fill = #graph.fill<positions>},
    %w: tensor<9x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["vocab", "hidden"]})
    -> (tensor<2x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %w, %tokens : (tensor<9x6xf32>, tensor<2x8xi32>) -> tensor<2x8x6xf32>
  %l = graph.linear %x, %w contract = 1 : (tensor<2x8x6xf32>, tensor<9x6xf32>) -> tensor<2x8x9xf32>
  return %l : tensor<2x8x9xf32>
}

// -----

// expected-error@+1 {{has no parameter: there is nothing to train}}
func.func @forward(%tokens: tensor<2x8xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"], graph.fill = #graph.fill<token_ids>}) -> tensor<2x8x9xf32> {
  %w = graph.constant dense<1.0> : tensor<9x9xf32> : tensor<9x9xf32>
  %x = graph.embedding %w, %tokens : (tensor<9x9xf32>, tensor<2x8xi32>) -> tensor<2x8x9xf32>
  return %x : tensor<2x8x9xf32>
}

// -----

graph.parameter @w : tensor<9x6xf32> from [#graph.source<"w", file = [9, 6]>]
// expected-error@+1 {{taken name (@train): a function of the step is called so; rename this func}}
func.func private @train()
func.func @forward(%tokens: tensor<2x8xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"], graph.fill = #graph.fill<token_ids>},
    %w: tensor<9x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["vocab", "hidden"]})
    -> (tensor<2x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %w, %tokens : (tensor<9x6xf32>, tensor<2x8xi32>) -> tensor<2x8x6xf32>
  %l = graph.linear %x, %w contract = 1 : (tensor<2x8x6xf32>, tensor<9x6xf32>) -> tensor<2x8x9xf32>
  return %l : tensor<2x8x9xf32>
}

// -----

graph.parameter @w : tensor<9x6xf32> from [#graph.source<"w", file = [9, 6]>]
// expected-error@+1 {{must return logits [batch, seq, vocab]}}
func.func @forward(%tokens: tensor<2x8xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"], graph.fill = #graph.fill<token_ids>},
    %w: tensor<9x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["vocab", "hidden"]})
    -> (tensor<2x9x8xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %w, %tokens : (tensor<9x6xf32>, tensor<2x8xi32>) -> tensor<2x8x6xf32>
  %l = graph.linear %x, %w contract = 1 : (tensor<2x8x6xf32>, tensor<9x6xf32>) -> tensor<2x8x9xf32>
  %t = graph.transpose %l [0, 2, 1] : (tensor<2x8x9xf32>) -> tensor<2x9x8xf32>
  return %t : tensor<2x9x8xf32>
}
