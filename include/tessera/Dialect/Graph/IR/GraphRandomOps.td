#ifndef TESSERA_DIALECT_GRAPH_GRAPHRANDOMOPS_TD
#define TESSERA_DIALECT_GRAPH_GRAPHRANDOMOPS_TD

include "tessera/Dialect/Graph/IR/GraphBase.td"

def Graph_RandomKeyOp : Graph_Op<"random_key", [DeclareOpInterfaceMethods<ElementwiseScalarOpInterface>]> {
  let summary = "64 counted random bits of (seed, stream, count), elementwise with trailing broadcast";
  let description = [{
    The function of `runtime/core/CountedRandom`, so that whoever knows the three numbers makes the same bits, in any order and on any rank. With counts made of `iota`s they
    follow from global indices: no sharding, tiling or loop changes them. Keys of rows for `dropout`.
    ```mlir
    // given %seed: tensor<i64>, %stream: tensor<i64>, %rows: tensor<4x16x1xi64>
    %keys = graph.random_key %seed, %stream, %rows : (tensor<i64>, tensor<i64>, tensor<4x16x1xi64>) -> tensor<4x16x1xi64>
    ```
    Made by `graph-build-train-step`.
  }];
  let arguments = (ins RankedTensorOf<[I64]>:$seed, RankedTensorOf<[I64]>:$stream, RankedTensorOf<[I64]>:$count);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "$seed `,` $stream `,` $count attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_DropoutOp : Graph_Op<"dropout", [Graph_Derivative, Graph_Drops, DeclareOpInterfaceMethods<ElementwiseScalarOpInterface>]> {
  let summary = "Elements of a row dropped at random, the others divided by the share that is kept (arXiv 1207.0580)";
  let description = [{
    An element is 0 where the random word of its row's key and its column is below `probability` (counted as float32) of 2^32, and x / (1 - probability) elsewhere. Operands broadcast
    to the shape of `input` (aligned at the last dimension). Nothing is drawn but from operands, so the op may run twice, and what backward needs is made again: the gradient of
    `input` is the same op on the gradient. It is linear in `input`: what is partial may be dropped from before it is summed up.
    ```mlir
    // given %x: tensor<4x16x64xf32>, %keys: tensor<4x16x1xi64>, %p: tensor<f32>
    %columns = graph.iota dim = 0 : tensor<64xi32>
    %y = graph.dropout %x keys %keys columns %columns probability %p : (tensor<4x16x64xf32>, tensor<4x16x1xi64>, tensor<64xi32>, tensor<f32>) -> tensor<4x16x64xf32>
    ```
    Made by `graph-build-train-step` where a `graph.name` says `drops`; `graph-leave-out-dropout` makes the entry that has none.
  }];
  let arguments = (ins Graph_FloatTensor:$input, RankedTensorOf<[I64]>:$keys, Graph_I32Tensor:$columns, RankedTensorOf<[F32]>:$probability);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$input `keys` $keys `columns` $columns `probability` $probability attr-dict `:` functional-type(operands, results)}];
  let hasVerifier = 1;
}

#endif
