#ifndef TESSERA_DIALECT_GRAPH_GRAPHEXPERTOPS_TD
#define TESSERA_DIALECT_GRAPH_GRAPHEXPERTOPS_TD

include "tessera/Dialect/Graph/IR/GraphBase.td"

def Graph_TopKOp : Graph_Op<"top_k"> {
  let summary = "The k largest elements of each row, the largest first: input [n..., e] -> values [n..., k], indices [n..., k]";
  let description = [{
    Elements count as float32; NaN, of either sign, is above all. Of equal elements the one with the lower index comes first, so that every rank and every target chooses alike.
    ```mlir
    // given %scores: tensor<4x16x8xf32>
    %values, %ids = graph.top_k %scores : (tensor<4x16x8xf32>) -> (tensor<4x16x2xf32>, tensor<4x16x2xi32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input);
  let results = (outs Graph_FloatTensor:$values, Graph_I32Tensor:$indices);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_DispatchOp : Graph_Op<"dispatch"> {
  let summary = "Rows for the experts that were chosen: input [n..., d], ids [n..., k] -> [n..., e, d]";
  let description = [{
    Row (n, e) is row n of `input` if expert e is among the ids of n, and zeros if not. An id outside [0, e) chooses nobody, and one that stands twice chooses once. So no token is
    dropped and no expert has a capacity, and nothing depends on how tokens or experts are sharded: a rank gives the rows of its experts.

    The type has a row for each token and expert. Where it is compiled, only chosen rows are held, one expert's after the other's; how many each has is data
    (docs/Experts.md). What of a row was not chosen matters to no op that takes `ids`.
    ```mlir
    // given %x: tensor<4x16x64xf32>, %ids: tensor<4x16x2xi32>
    %rows = graph.dispatch %x, %ids : (tensor<4x16x64xf32>, tensor<4x16x2xi32>) -> tensor<4x16x8x64xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$input, Graph_I32Tensor:$ids);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_ExpertLinearOp : Graph_Op<"expert_linear"> {
  let summary = "Each expert's own product: rows [n..., e, in], weight [e, out, in], ids [n..., k] -> [n..., e, out]";
  let description = [{
    Row (n, e) of the result is row (n, e) of `rows` times the weight of expert e, if e is among the ids of n (as of `dispatch`), and zeros if not: rows that nobody chose are
    not read. Sharded over `e` a rank has its experts' weights and rows; over `out` or `in` it is a `linear`. The cost is that of even routing.
    f32, bf16 and f16 may stand in any mixture: sums are kept in float32 and rounded to the result's type once.
    ```mlir
    // given %rows: tensor<4x16x8x64xf32>, %w: tensor<8x96x64xf32>, %ids: tensor<4x16x2xi32>
    %y = graph.expert_linear %rows, %w, %ids : (tensor<4x16x8x64xf32>, tensor<8x96x64xf32>, tensor<4x16x2xi32>) -> tensor<4x16x8x96xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$rows, Graph_FloatTensor:$weight, Graph_I32Tensor:$ids);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$rows `,` $weight `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_CombineOp : Graph_Op<"combine"> {
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

#endif
