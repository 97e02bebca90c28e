#ifndef TESSERA_DIALECT_GRAPH_GRAPHNEURALOPS_TD
#define TESSERA_DIALECT_GRAPH_GRAPHNEURALOPS_TD

include "tessera/Dialect/Graph/IR/GraphBase.td"

def Graph_EmbeddingOp : Graph_Op<"embedding"> {
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

def Graph_ScatterAddOp : Graph_Op<"scatter_add"> {
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

def Graph_LinearOp : Graph_Op<"linear"> {
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

def Graph_EinsumOp : Graph_Op<"einsum"> {
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

def Graph_RmsNormOp : Graph_Op<"rms_norm", [DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "x / sqrt(mean(x^2) + eps) * weight over the last dimension (arXiv 1910.07467)";
  let arguments = (ins Graph_FloatTensor:$input, Graph_FloatTensor:$weight, F64Attr:$eps);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight `eps` `=` $eps attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_LayerNormOp : Graph_Op<"layer_norm", [DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "(x - mean) / sqrt(var + eps) * weight + bias over the last dimension (arXiv 1607.06450)";
  let arguments = (ins Graph_FloatTensor:$input, Graph_FloatTensor:$weight, Graph_FloatTensor:$bias, F64Attr:$eps);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight `,` $bias `eps` `=` $eps attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_SoftmaxOp : Graph_Op<"softmax", [AllTypesMatch<["input", "result"]>, DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "exp(x - max) / sum over the last dimension";
  let arguments = (ins Graph_FloatTensor:$input);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_CrossEntropyOp : Graph_Op<"cross_entropy", [DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
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

def Graph_RopeOp : Graph_Op<"rope", [DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
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

def Graph_AttentionOp : Graph_Op<"attention", [DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "softmax(scale * q k^T + causal mask) v, by heads";
  let description = [{
    q [batch, seq, kv_heads, group, head_dim], k [batch, context, kv_heads, head_dim], v [batch, context, kv_heads, value_dim], positions
    [batch, seq] i32 -> [batch, seq, kv_heads, group, value_dim]. Key j has position j. Query i sees keys with j <= positions[b, i] and, if
    `window` is given, j > positions[b, i] - window. A query that sees nothing (position -1) gives 0.
    `softcap`: scores become softcap * tanh(scores / softcap).
  }];
  let arguments = (ins Graph_FloatTensor:$query, Graph_FloatTensor:$key, Graph_FloatTensor:$value, Graph_I32Tensor:$positions,
      F64Attr:$scale, OptionalAttr<I64Attr>:$window, OptionalAttr<F64Attr>:$softcap);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$query `,` $key `,` $value `,` $positions `scale` `=` $scale attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_CacheUpdateOp : Graph_Op<"cache_update"> {
  let summary = "Writes new keys or values into one layer of a stacked cache, in place";
  let description = [{
    cache [layer, batch, context, heads, d], update [batch, seq, heads, d], index scalar i32, positions [batch, seq] ->
    cache. Row (b, i) goes to context position positions[b, i]; a position outside [0, context) writes nothing. `context` may be sharded:
    a rank keeps what falls into its piece.
  }];
  let arguments = (ins Graph_FloatTensor:$cache, Graph_FloatTensor:$update, Graph_I32Tensor:$index, Graph_I32Tensor:$positions);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$cache `[` $index `]` `,` $update `,` $positions attr-dict `:` functional-type(operands, results)";
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

#endif
