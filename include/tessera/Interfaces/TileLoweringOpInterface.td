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
      Emits linalg and tensor ops that compute the results of types `types` from `tiles` (one per operand). A tile is the whole tensor, or has size 1
      along dimensions that the kernel's loop runs over.
    }], "::llvm::LogicalResult", "lowerTile",
        (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$tiles, "::mlir::TypeRange":$types,
             "::tessera::TileContext &":$context, "::llvm::SmallVectorImpl<::mlir::Value> &":$results)>,
  ];
}

#endif
