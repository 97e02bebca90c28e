#ifndef TESSERA_DIALECT_GRAPH_GRAPHEXPERTOPS_TD
#define TESSERA_DIALECT_GRAPH_GRAPHEXPERTOPS_TD

include "tessera/Dialect/Graph/IR/GraphBase.td"
include "tessera/Interfaces/ChosenRowsOpInterface.td"

/// Reads chosen rows of operands [n..., e, d] alone: `rows` says of which.
class Graph_ChoosingOp<string mnemonic, string rows> : Graph_Op<mnemonic, [Graph_Derivative, ChosenRowsOpInterface]> {
  code choosing = [{
    ::mlir::Value getChosenIds() { return getIds(); }
    bool readsChosenRows(unsigned operand) { return }] # rows # [{; }
  }];
  let extraClassDeclaration = choosing;
}

def Graph_TopKOp : Graph_Op<"top_k", [Graph_Derivative]> {
  let summary = "The k largest elements of each row, the largest first: input [n..., e] -> values [n..., k], indices [n..., k]";
  let description = [{
    Elements count as float32; NaN, of either sign, is above all. Of equal elements the one with the lower index comes first, so that every rank and every target chooses alike.
    ```mlir
    // given %scores: tensor<4x16x8xf32>
    %values, %ids = graph.top_k %scores : (tensor<4x16x8xf32>) -> (tensor<4x16x2xf32>, tensor<4x16x2xi32>)
    ```
    Gradients of values go back to the elements that they were; which elements were chosen has none.
  }];
  let arguments = (ins Graph_FloatTensor:$input);
  let results = (outs Graph_FloatTensor:$values, Graph_I32Tensor:$indices);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_DispatchOp : Graph_Op<"dispatch", [Graph_Derivative]> {
  let summary = "Rows for the experts that were chosen: input [n..., d], ids [n..., k], weights [n..., k] if any -> [n..., e, d]";
  let description = [{
    Row (n, e) is row n of `input` if expert e is among the ids of n, and zeros if not. An id outside [0, e) chooses nobody, and one that stands twice chooses once. So no token is
    dropped and no expert has a capacity, and nothing depends on how tokens or experts are sharded: a rank gives the rows of its experts.

    With `weights` a row is that of `input` times the weight of the choice (of an id that stands twice, the first one's), in float32, rounded once. Importers write no weights: gradients
    of `combine` do, which adds up what this op spreads, with the same weights.

    The type has a row for each token and expert. Where it is compiled, only chosen rows are held, one expert's after the other's; how many each has is data
    (docs/Experts.md). What of a row was not chosen matters to no op that takes `ids`.
    ```mlir
    // given %x: tensor<4x16x64xf32>, %ids: tensor<4x16x2xi32>
    %rows = graph.dispatch %x, %ids : (tensor<4x16x64xf32>, tensor<4x16x2xi32>) -> tensor<4x16x8x64xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, Graph_I32Tensor:$ids, Optional<Graph_FloatTensor>:$weights);
  let results = (outs Graph_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input, "::mlir::Value":$ids), [{
    build($_builder, $_state, result, input, ids, ::mlir::Value());
  }]>];
  let assemblyFormat = "$input `,` $ids (`weights` $weights^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_ExpertLinearOp : Graph_ChoosingOp<"expert_linear", "operand == 0"> {
  let summary = "Each expert's own product: rows [n..., e, in], weight [e, out, in] or `transposed` [e, in, out], ids [n..., k] -> [n..., e, out]";
  let description = [{
    Row (n, e) of the result is row (n, e) of `rows` times the weight of expert e, if e is among the ids of n (as of `dispatch`), and zeros if not: rows that nobody chose are
    not read. Sharded over `e` a rank has its experts' weights and rows; over `out` or `in` it is a `linear`. The cost is that of even routing.
    Gradients of rows are products with the `transposed` weight, which is read as it lies.
    f32, bf16 and f16 may stand in any mixture: sums are kept in float32 and rounded to the result's type once.
    ```mlir
    // given %rows: tensor<4x16x8x64xf32>, %w: tensor<8x96x64xf32>, %ids: tensor<4x16x2xi32>
    %y = graph.expert_linear %rows, %w, %ids : (tensor<4x16x8x64xf32>, tensor<8x96x64xf32>, tensor<4x16x2xi32>) -> tensor<4x16x8x96xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$rows, Graph_FloatTensor:$weight, Graph_I32Tensor:$ids, UnitAttr:$transposed);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$rows `,` $weight (`transposed` $transposed^)? `,` $ids attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = choosing # [{
    /// Dimensions of the weight.
    int64_t inDim() { return getTransposed() ? 1 : 2; }
    int64_t outDim() { return 3 - inDim(); }
  }];
  let hasVerifier = 1;
}

def Graph_ExpertOuterOp : Graph_ChoosingOp<"expert_outer", "operand < 2"> {
  let summary = "Each expert's sum of outer products: lhs [n..., e, a], rhs [n..., e, b], ids [n..., k] -> [e, a, b]";
  let description = [{
    Element (e, a, b) is the sum over n of lhs[n, e, a] * rhs[n, e, b], over those n whose ids (as of `dispatch`) have expert e: the gradient of the weight of `expert_linear`, which
    is what makes it. An expert that nobody chose gets zeros. Sharded over tokens the result is a partial sum; over `e` a rank has the sums of its experts. The cost is that of even
    routing. f32, bf16 and f16 may stand in any mixture: sums are kept in float32 and rounded to the result's type once.
    ```mlir
    // given %dy: tensor<4x16x8x96xf32>, %rows: tensor<4x16x8x64xf32>, %ids: tensor<4x16x2xi32>
    %dw = graph.expert_outer %dy, %rows, %ids : (tensor<4x16x8x96xf32>, tensor<4x16x8x64xf32>, tensor<4x16x2xi32>) -> tensor<8x96x64xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$lhs, Graph_FloatTensor:$rhs, Graph_I32Tensor:$ids);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_CombineOp : Graph_ChoosingOp<"combine", "operand == 0"> {
  let summary = "What the chosen experts gave, weighed and added up: rows [n..., e, d], ids [n..., k], weights [n..., k] -> [n..., d]";
  let description = [{
    Row n is the sum over j of weights[n, j] * rows[n, ids[n, j]], in float32, rounded once. An id outside [0, e) adds nothing, nor does one that stands before in its row. Sharded over `e`
    the result is a partial sum: every rank adds up what its experts gave.
    ```mlir
    // given %rows: tensor<4x16x8x64xf32>, %ids: tensor<4x16x2xi32>, %weights: tensor<4x16x2xf32>
    %y = graph.combine %rows, %ids, %weights : (tensor<4x16x8x64xf32>, tensor<4x16x2xi32>, tensor<4x16x2xf32>) -> tensor<4x16x64xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$rows, Graph_I32Tensor:$ids, Graph_FloatTensor:$weights);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$rows `,` $ids `,` $weights attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_ChosenDotOp : Graph_ChoosingOp<"chosen_dot", "operand == 1"> {
  let summary = "Each token's products with the rows that it chose: input [n..., d], rows [n..., e, d], ids [n..., k] -> [n..., k]";
  let description = [{
    Element (n, j) is the sum over d of input[n, d] * rows[n, ids[n, j], d], in float32, rounded once: the gradient of the weights of `combine`, which is what makes it. It is 0 for an id
    outside [0, e) and for one that stands before in its row. Sharded over `e` or `d` the result is a partial sum: a rank gives what its experts say, zeros for the others.
    ```mlir
    // given %dy: tensor<4x16x64xf32>, %rows: tensor<4x16x8x64xf32>, %ids: tensor<4x16x2xi32>
    %dw = graph.chosen_dot %dy, %rows, %ids : (tensor<4x16x64xf32>, tensor<4x16x8x64xf32>, tensor<4x16x2xi32>) -> tensor<4x16x2xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, Graph_FloatTensor:$rows, Graph_I32Tensor:$ids);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `,` $rows `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif
