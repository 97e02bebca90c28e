#ifndef TESSERA_INTERFACES_TILELOWERINGOPINTERFACE_TD
#define TESSERA_INTERFACES_TILELOWERINGOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def TileLoweringOpInterface : OpInterface<"TileLoweringOpInterface"> {
  let description = [{
    Ops that can compute a tile of their results from tiles of their operands: tiling is sharding over a loop, and which part of an
    operand belongs to a tile follows from the sharding rule. Implemented from outside the dialect
    (`lib/Conversion/GraphToLinalg`); used by `spmd-to-kernels` for the body of a kernel.
  }];
  let cppNamespace = "::tessera";
  let methods = [
    InterfaceMethod<[{
      Emits linalg and tensor ops that compute the results of types `types` from `tiles` (one per operand). A tile is the whole tensor, or has some
      of the elements along dimensions that the kernel's loop runs over. Where the loop runs over parts of a dimension (`getTilingRule`, `canSplit`)
      the tile has several dimensions for it, as if the array had been reshaped. The tile of an operand that is updated in place is all of it.
    }], "::llvm::LogicalResult", "lowerTile",
        (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$tiles, "::mlir::TypeRange":$types,
             "::tessera::TileContext &":$context, "::llvm::SmallVectorImpl<::mlir::Value> &":$results)>,
    InterfaceMethod<[{
      What a loop may run over: the sharding rule, or a finer one. A shard of a dimension is contiguous, a tile need not be: pairs of elements half a
      dimension apart are independent of each other (a dimension of factors half, pair). Called on ops with a sharding rule.
    }], "::tessera::ShardingRule", "getTilingRule", (ins), [{}], [{
      return ::mlir::cast<::tessera::ShardingRuleOpInterface>($_op.getOperation()).getShardingRule();
    }]>,
    InterfaceMethod<"Tiles may have several dimensions for each one of this pass-through factor of the tiling rule.",
                    "bool", "canSplit", (ins "const ::tessera::ShardingRule &":$rule, "int":$factor), [{}], [{ return false; }]>,
    InterfaceMethod<[{
      The operand that result 0 is, changed in place at indices that are data; -1: every result is new. Iterations over factors of the other operands
      write different elements.
    }], "int", "getUpdatedOperand", (ins), [{}], [{ return -1; }]>,
    InterfaceMethod<[{
      Arrays that a tile makes for itself beside its results, of as many points as it has of these factors of the tiling rule. Not those that are
      smaller than a result: a few numbers a row.
    }], "::llvm::SmallVector<::tessera::TileScratch>", "getTileScratch", (ins "const ::tessera::ShardingRule &":$rule), [{}], [{ return {}; }]>,
    InterfaceMethod<"Result 0 is operand 0, unless there is padding.", "bool", "masksPadding", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<"What a library's product does to its sums if it takes this op in: the same function; none: no library has it.",
                    "::tessera::ProductFunction", "getProductFunction", (ins), [{}], [{ return ::tessera::ProductFunction::None; }]>,
  ];
}

#endif
