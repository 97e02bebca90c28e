#ifndef TESSERA_DIALECT_GRAPH_GRAPHPARTIALOP_TD
#define TESSERA_DIALECT_GRAPH_GRAPHPARTIALOP_TD

include "tessera/Dialect/Graph/IR/GraphBase.td"

def Graph_PartialOp : Op<Graph_Dialect, "partial", [Pure, SingleBlock,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface>, DeclareOpInterfaceMethods<CostOpInterface>]> {
  let summary = "Partial results of an op, one for each part of a factor that it reduces";
  let description = [{
    The factor (a number of the op's sharding rule) is cut into `parts` equal, contiguous parts. Result i along the first dimension is what the op in the body gives for part i
    alone: what a shard of that factor would hold. A sum or maximum over that dimension, as the rule says, is the op's own result. The parts are a pass-through factor,
    so that a kernel's loop can run over them. Shapes are those of one rank.
    ```mlir
    // given %logits: tensor<1x4096xf32>
    %keys = graph.partial 8 of 1 (%logits) : (tensor<1x4096xf32>) -> tensor<8x1xi64> {
    ^bb0(%all: tensor<1x4096xf32>):
      %key = graph.arg_max_key %all : (tensor<1x4096xf32>) -> tensor<1xi64>
      graph.part %key : tensor<1xi64>
    }
    %largest = graph.reduce max %keys dims = [0] : (tensor<8x1xi64>) -> tensor<1xi64>
    ```
    Made of long reductions of few rows in `spmd-to-kernels`, for targets whose loops run over any factor, and part of a kernel when that pass ends.
  }];
  let arguments = (ins I64Attr:$parts, I64Attr:$factor, Variadic<AnyRankedTensor>:$inputs);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body);
  /// Of a copy of `op`, with its operands.
  let builders = [OpBuilder<(ins "::mlir::Operation *":$op, "int64_t":$factor, "int64_t":$parts)>];
  let assemblyFormat = "$parts `of` $factor `(` $inputs `)` attr-dict `:` functional-type(operands, results) $body";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The op whose partial results these are; its operands are the block's arguments.
    ::mlir::Operation *getOp() { return &getBody().front().front(); }
    /// The dimension of input `number` that is cut, or -1.
    int64_t getCutDim(unsigned number);
  }];
}

def Graph_PartOp : Op<Graph_Dialect, "part", [Pure, Terminator, HasParent<"PartialOp">]> {
  let summary = "Ends the body of a `graph.partial`: what its op gives";
  let arguments = (ins AnyRankedTensor:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif
