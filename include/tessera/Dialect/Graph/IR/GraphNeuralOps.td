#ifndef TESSERA_DIALECT_GRAPH_GRAPHNEURALOPS_TD
#define TESSERA_DIALECT_GRAPH_GRAPHNEURALOPS_TD

include "tessera/Dialect/Graph/IR/GraphBase.td"

def Graph_EmbeddingOp : Graph_Op<"embedding", [Graph_Derivative]> {
  let summary = "Rows of a table: table [v, d...], ids [n...] -> [n..., d...]";
  let description = [{
    A row outside [0, v) gives zeros (on one rank of a sharded table: rows of other ranks), so sharding v makes the result a
    partial sum. Ids are checked by the runtime before anything runs.
  }];
  let arguments = (ins Graph_FloatTensor:$table, Graph_I32Tensor:$ids);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$table `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_ScatterAddOp : Graph_Op<"scatter_add", [Graph_Derivative]> {
  let summary = "Adds up rows by id, the transpose of `embedding`: rows [n..., d...], ids [n...] -> [v, d...]";
  let description = [{
    Result row i is the sum, float32 at least, of the rows whose id is i; an id outside [0, v) adds nothing. Sharding n makes the result a partial sum; where v is sharded a rank
    keeps the rows that it holds. The gradient of an embedding's table.
    ```mlir
    // given %dx: tensor<4x16x64xf32>, %ids: tensor<4x16xi32>
    %dt = graph.scatter_add %dx, %ids : (tensor<4x16x64xf32>, tensor<4x16xi32>) -> tensor<512x64xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$rows, Graph_I32Tensor:$ids);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$rows `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_LinearOp : Graph_Op<"linear", [Graph_Derivative]> {
  let summary = "x [n..., in...] . w [out..., in...] -> [n..., out...]; the last `contract` dimensions of both are summed over";
  let description = [{
    f32, bf16 and f16 may stand in any mixture: sums are kept in float32 and rounded to the result's type once. f64 goes with f64 alone.
    ```mlir
    // given %x: tensor<1x16x64xbf16>, %w: tensor<512x64xbf16>
    %logits = graph.linear %x, %w contract = 1 : (tensor<1x16x64xbf16>, tensor<512x64xbf16>) -> tensor<1x16x512xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, Graph_FloatTensor:$weight, I64Attr:$contract);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight `contract` `=` $contract attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_EinsumOp : Graph_Op<"einsum", [Graph_Derivative]> {
  let summary = "Products of two tensors, summed over the dimensions that the result lacks";
  let description = [{
    `subscripts` gives each dimension of lhs, rhs and result a letter: "bshgd,bchd->bshgc". A letter stands at most once in a tensor and in at least
    two of the three; dimensions with one letter are equally long. Letters that the result lacks are summed over, in float32 at least.
    Sharded over such a letter the result is a partial sum. What attention is written out with where its `context` is sharded.
  }];
  let arguments = (ins Graph_FloatTensor:$lhs, Graph_FloatTensor:$rhs, StrAttr:$subscripts);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$subscripts $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The letters of lhs, rhs and result.
    ::llvm::StringRef getLhsLetters() { return getSubscripts().split("->").first.split(',').first; }
    ::llvm::StringRef getRhsLetters() { return getSubscripts().split("->").first.split(',').second; }
    ::llvm::StringRef getResultLetters() { return getSubscripts().split("->").second; }
    /// Those that are summed over, in the order of lhs.
    ::std::string getSummedLetters();
  }];
}

def Graph_RmsNormOp : Graph_Op<"rms_norm", [Graph_Derivative, DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "x / sqrt(mean(x^2) + eps) * weight over the last dimensions, those of the weight (arXiv 1910.07467)";
  let description = [{
    With a weight [heads, head_dim] all heads of a token are normalised at once. Where such a dimension is sharded one sum per row travels.
    ```mlir
    // given %k: tensor<2x16x4x8xf32>, %w: tensor<4x8xf32>
    %n = graph.rms_norm %k, %w eps = 1.0e-6 : (tensor<2x16x4x8xf32>, tensor<4x8xf32>) -> tensor<2x16x4x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, Graph_FloatTensor:$weight, F64Attr:$eps);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight `eps` `=` $eps attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_LayerNormOp : Graph_Op<"layer_norm", [Graph_Derivative, DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "(x - mean) / sqrt(var + eps) * weight + bias over the last dimension (arXiv 1607.06450)";
  let arguments = (ins Graph_FloatTensor:$input, Graph_FloatTensor:$weight, Graph_FloatTensor:$bias, F64Attr:$eps);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight `,` $bias `eps` `=` $eps attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_SoftmaxOp : Graph_Op<"softmax", [Graph_Derivative, AllTypesMatch<["input", "result"]>, DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "exp(x - max) / sum over the last dimension";
  let arguments = (ins Graph_FloatTensor:$input);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_CrossEntropyOp : Graph_Op<"cross_entropy", [Graph_Derivative, DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "log(sum(exp(logits))) - logits[label] of each row: logits [n..., v], labels [n...] -> loss [n...], log-sum-exp [n...]";
  let description = [{
    A label outside [0, v) is ignored: its loss is 0. Results are float32 at least. The scalar loss is a `reduce` of the first result, to be divided by the number of
    labels that count; the second is what backward needs: d logits = exp(logits - log-sum-exp) - one-hot.
    With a sharded vocabulary one maximum and one sum of exponentials per row travel; the loss stays a partial sum (every rank has the terms
    of the labels in its piece), so that it is reduced with the scalar.
    ```mlir
    // given %logits: tensor<4x16x512xf32>, %labels: tensor<4x16xi32>
    %loss, %lse = graph.cross_entropy %logits, %labels : (tensor<4x16x512xf32>, tensor<4x16xi32>) -> (tensor<4x16xf32>, tensor<4x16xf32>)
    %sum = graph.reduce sum %loss dims = [0, 1] : (tensor<4x16xf32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_I32Tensor:$labels);
  let results = (outs Graph_FloatTensor:$loss, Graph_FloatTensor:$log_sum_exp);
  let assemblyFormat = "$logits `,` $labels attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_RopeOp : Graph_Op<"rope", [Graph_Derivative, DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "Rotary position embedding (arXiv 2104.09864): x [b, s, ..., d], positions [b, s]";
  let description = [{
    Pair p of the last dimension turns by positions * frequencies[p]. Style `half`: pairs (p, p + r/2), `adjacent`: (2p, 2p + 1), with
    r = 2 * number of frequencies; elements from r on stay as they are. Tables are rounded to float32 as reference
    implementations do; result times `magnitude`.
  }];
  let arguments = (ins Graph_FloatTensor:$input, Graph_I32Tensor:$positions, DenseF64ArrayAttr:$frequencies,
      Graph_RopeStyle:$style, DefaultValuedAttr<F64Attr, "1.0">:$magnitude);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$style $input `,` $positions `frequencies` `=` custom<ExactNumbers>($frequencies) attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_AttentionOp : Graph_Op<"attention", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<DecomposableOpInterface>,
    DeclareOpInterfaceMethods<DerivativeOpInterface, ["withStatistics", "whyNoGradient"]>, Graph_Drops, Graph_DropSite,
    DeclareOpInterfaceMethods<PositionMixingOpInterface>]> {
  let summary = "softmax(scale * q k^T + causal mask) v, by heads";
  let description = [{
    q [batch, seq, kv_heads, group, head_dim], k [batch, context, kv_heads, head_dim], v [batch, context, kv_heads, value_dim], positions
    [batch, seq] i32 -> [batch, seq, kv_heads, group, value_dim]. Key j has position j. Query i sees keys with j <= positions[b, i] and, if
    `window` is given, j > positions[b, i] - window. A query that sees nothing (position -1) gives 0.
    Positions [batch, seq, 2] say, for each query, the last key that it may see and the first: of rows that hold several documents.
    `softcap`: scores become softcap * tanh(scores / softcap).
    `sinks` [kv_heads, group]: a score of each head that stands beside those of the keys in every softmax and has no value (arXiv 2309.17453; learned: GPT-OSS).
    Neither `scale` nor `softcap` changes it, and a query that sees nothing still gives 0.
    A second result, if asked for, is log(sum(exp(scores))) of every query [batch, seq, kv_heads, group] in f32, the sink's among them; -infinity where it sees nothing and
    there is no sink: what backward reads in place of the weights. `graph-differentiate` asks for it.
    With `pages` [batch, n] i32 keys and values are found as `cache_update` writes them, in pages of `page` positions: key j of row b stands at
    j + pages[b, j / page] * page of k and v, whose context is n * page. Positions stay those of the text. There is no gradient then.
    With `ring` key j stands at j mod context, as `cache_update` with `ring` writes it: k and v hold the last `context` positions of a row, `window` of which a query sees at most.
    It has no pages then, drops nothing and has no gradient.
    With `dropout` the weights, after their sum is taken, are dropped from as `graph.dropout` does: `drop_keys` [batch, seq, kv_heads, group] are the keys of rows, key j is column j, and
    `drop_share` is the probability. `drops`: training may do so (as of `graph.name`).
    ```mlir
    // given %q: tensor<2x1x4x2x16xf32>, %k: tensor<2x256x4x16xf32>, %v: tensor<2x256x4x16xf32>, %positions: tensor<2x1xi32>, %table: tensor<2x2xi32>
    %o = graph.attention %q, %k, %v, %positions pages %table of 128 scale = 0.25
        : (tensor<2x1x4x2x16xf32>, tensor<2x256x4x16xf32>, tensor<2x256x4x16xf32>, tensor<2x1xi32>, tensor<2x2xi32>) -> tensor<2x1x4x2x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$query, Graph_FloatTensor:$key, Graph_FloatTensor:$value, Graph_I32Tensor:$positions,
      Optional<Graph_I32Tensor>:$pages, Optional<Graph_FloatTensor>:$sinks, Optional<RankedTensorOf<[I64]>>:$drop_keys, Optional<RankedTensorOf<[F32]>>:$drop_share,
      F64Attr:$scale, OptionalAttr<I64Attr>:$window, OptionalAttr<F64Attr>:$softcap, OptionalAttr<I64Attr>:$page, UnitAttr:$drops,
      UnitAttr:$ring);
  let results = (outs Graph_FloatTensor:$result, Optional<RankedTensorOf<[F32]>>:$log_sum_exp);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$query, "::mlir::Value":$key, "::mlir::Value":$value,
      "::mlir::Value":$positions, "::mlir::FloatAttr":$scale, "::mlir::IntegerAttr":$window, "::mlir::FloatAttr":$softcap), [{
    build($_builder, $_state, result, ::mlir::Type(), query, key, value, positions, ::mlir::Value(), ::mlir::Value(), ::mlir::Value(), ::mlir::Value(), scale, window, softcap,
        ::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = [{$query `,` $key `,` $value `,` $positions (`pages` $pages^ `of` $page)? (`ring` $ring^)? (`sinks` $sinks^)? (`dropout` $drop_keys^ `,` $drop_share)? `scale` `=` $scale (`drops` $drops^)? attr-dict
      `:` functional-type(operands, results)}];
  let hasVerifier = 1;
}

/// What backward of attention computes: the weights again, from scores and their log-sum-exp, a block of them at a time in a kernel, and what they weigh.
class Graph_AttentionGradientOp<string mnemonic> : Graph_Op<mnemonic, [AttrSizedOperandSegments, DeclareOpInterfaceMethods<DecomposableOpInterface>, Graph_Drops]> {
  let arguments = (ins Graph_FloatTensor:$query, Graph_FloatTensor:$key, Graph_FloatTensor:$value, Graph_I32Tensor:$positions,
      Graph_FloatTensor:$gradient, RankedTensorOf<[F32]>:$log_sum_exp, RankedTensorOf<[F32]>:$delta,
      Optional<RankedTensorOf<[I64]>>:$drop_keys, Optional<RankedTensorOf<[F32]>>:$drop_share,
      F64Attr:$scale, OptionalAttr<I64Attr>:$window, OptionalAttr<F64Attr>:$softcap);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $positions `,` $gradient `,` $log_sum_exp `,` $delta (`dropout` $drop_keys^ `,` $drop_share)? `scale` `=` $scale attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Graph_AttentionQueryGradientOp : Graph_AttentionGradientOp<"attention_query_gradient"> {
  let summary = "The gradient of the queries of an attention";
  let description = [{
    Operands of `attention`, then `gradient`, that of its result; `log_sum_exp`, its second result; `delta` [batch, seq, kv_heads, group], the sum of
    gradient * result over value_dim (less the gradient of log_sum_exp, if that has one). With weights p = exp(scores - log_sum_exp), 0 where a query
    does not see a key, and ds = p * (gradient . v - delta) * scale (and the slope of `softcap`): result = sum of ds * k over the context, shaped as q.
    With `dropout`, gradient . v is dropped from as attention's weights were.
  }];
  let results = (outs Graph_FloatTensor:$result);
}

def Graph_AttentionKeyValueGradientOp : Graph_AttentionGradientOp<"attention_key_value_gradient"> {
  let summary = "The gradients of the keys and values of an attention";
  let description = [{
    As `attention_query_gradient`: with its p and ds, key_gradient is the sum of ds * q and value_gradient that of p (dropped from, with `dropout`) * gradient, over queries and groups: shaped as
    k and v. Sharded over queries the results are partial sums. Results of 16-bit keys and values may be float32, as such terms are until they are added up.
  }];
  let results = (outs Graph_FloatTensor:$key_gradient, Graph_FloatTensor:$value_gradient);
}

def Graph_CacheUpdateOp : Graph_Op<"cache_update"> {
  let summary = "Writes new keys or values into one layer of a stacked cache, in place";
  let description = [{
    cache [layer, batch, context, heads, d], update [batch, seq, heads, d], index scalar i32, positions [batch, seq] ->
    cache. Row (b, i) goes to context position positions[b, i]; a position outside [0, context) writes nothing. `context` may be sharded:
    a rank keeps what falls into its piece.
    With `pages` [batch, n] i32 the context is n pages of `page` positions, and the table says where each of a row's pages stands: pages[b, p] pages behind its own
    place (before it, if negative). So position j goes to j + pages[b, j / page] * page: zeros, as a state begins, are the identity. A table leads every page of
    a row to another place of that row's context. Whoever writes the table answers for that.
    With `ring` position j, of any size, goes to place j mod context: the cache holds the last `context` positions. The rows of one update must have places of their own:
    `seq` is at most the context, and positions that follow each other have.
    With the attribute `graph.held = "Q8_0"` rows are rounded to blocks of 32 (docs/Precision.md); `d` is whole then.
    ```mlir
    // given %cache: tensor<3x2x256x4x16xf32>, %new: tensor<2x1x4x16xf32>, %layer: tensor<i32>, %positions: tensor<2x1xi32>, %table: tensor<2x2xi32>
    %c = graph.cache_update %cache[%layer], %new, %positions pages %table of 128
        : (tensor<3x2x256x4x16xf32>, tensor<2x1x4x16xf32>, tensor<i32>, tensor<2x1xi32>, tensor<2x2xi32>) -> tensor<3x2x256x4x16xf32>
    %r = graph.cache_update %cache[%layer], %new, %positions ring
        : (tensor<3x2x256x4x16xf32>, tensor<2x1x4x16xf32>, tensor<i32>, tensor<2x1xi32>) -> tensor<3x2x256x4x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$cache, Graph_FloatTensor:$update, Graph_I32Tensor:$index, Graph_I32Tensor:$positions,
      Optional<Graph_I32Tensor>:$pages, OptionalAttr<I64Attr>:$page, UnitAttr:$ring);
  let results = (outs Graph_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$cache, "::mlir::Value":$update, "::mlir::Value":$index, "::mlir::Value":$positions), [{
    build($_builder, $_state, result, cache, update, index, positions, ::mlir::Value(), ::mlir::IntegerAttr(), ::mlir::UnitAttr());
  }]>];
  let assemblyFormat = "$cache `[` $index `]` `,` $update `,` $positions (`pages` $pages^ `of` $page)? (`ring` $ring^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_ArgMaxKeyOp : Graph_Op<"arg_max_key"> {
  let summary = "Largest element of the last dimension with its index, as one i64 that orders like the pair";
  let description = [{
    High 32 bits: the float32 value, mapped to an order-preserving integer; low 32 bits: 2^31 - 1 - index, so the lowest index wins a tie.
    NaN, of either sign, is above all.
    Sharded over the last dimension the result is a partial maximum: one i64 per row travels, never the logits.
  }];
  let arguments = (ins Graph_FloatTensor:$input);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_ArgMaxIndexOp : Graph_Op<"arg_max_index"> {
  let summary = "The index inside an arg_max_key; -1 where the largest is NaN or infinite";
  let arguments = (ins RankedTensorOf<[I64]>:$key);
  let results = (outs Graph_I32Tensor:$result);
  let assemblyFormat = "$key attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_DrawOp : Graph_Op<"draw"> {
  let summary = "One token of each row, drawn: logits [n..., v] -> ids [n...]";
  let description = [{
    Draws from softmax(logits / temperature), cut first to the `top_k` most likely ids (0: all of them), then to the fewest of these that hold `top_p` of what is left
    (1: all; at equal logits the lower id comes first; the id that makes the sum reach it is the last), and then to those at least `min_p` times as likely as the likeliest (0: all). The number that picks is a function of (seed, stream, count) alone
    (docs/Runtime.md, "Choosing tokens"); it goes through the ids in their order, or, where they were cut, in falling order of the logits. Logits count as float32. -1 where the
    largest is NaN or infinite. `temperature` is above 0, `top_p` in (0, 1], `min_p` in [0, 1].
    A rank has all logits of its rows: equal rows give equal tokens on all ranks.
    ```mlir
    // given %logits: tensor<4x1x512xf32>, %stream: tensor<4x1xi32>, %count: tensor<4x1xi32>, %seed: tensor<i64>, %t: tensor<f64>, %k: tensor<i32>, %p: tensor<f64>, %m: tensor<f64>
    %ids = graph.draw %logits, %stream, %count seed = %seed temperature = %t top_k = %k top_p = %p min_p = %m
        : (tensor<4x1x512xf32>, tensor<4x1xi32>, tensor<4x1xi32>, tensor<i64>, tensor<f64>, tensor<i32>, tensor<f64>, tensor<f64>) -> tensor<4x1xi32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_I32Tensor:$stream, Graph_I32Tensor:$count, RankedTensorOf<[I64]>:$seed,
      RankedTensorOf<[F64]>:$temperature, Graph_I32Tensor:$top_k, RankedTensorOf<[F64]>:$top_p, RankedTensorOf<[F64]>:$min_p);
  let results = (outs Graph_I32Tensor:$result);
  let assemblyFormat = [{$logits `,` $stream `,` $count `seed` `=` $seed `temperature` `=` $temperature `top_k` `=` $top_k `top_p` `=` $top_p
      `min_p` `=` $min_p attr-dict
      `:` functional-type(operands, results)}];
  let hasVerifier = 1;
}

#endif
