//===- VerifyOps.h - What verifiers of the exec dialect share ---*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_EXEC_IR_VERIFYOPS_H
#define TESSERA_LIB_DIALECT_EXEC_IR_VERIFYOPS_H

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Exec/IR/HeldWords.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

namespace tessera::exec {

inline int64_t numElements(mlir::Value value) {
  return mlir::cast<mlir::ShapedType>(value.getType()).getNumElements();
}
inline mlir::Type elementType(mlir::Value value) {
  return mlir::cast<mlir::ShapedType>(value.getType()).getElementType();
}

/// Either all arrays are tensors, or all are buffers and there are no results.
mlir::LogicalResult verifyOneRung(mlir::Operation *op);
/// Null, with an error at `op`, where `param` names no parameter.
graph::ParameterOp lookupParameter(mlir::Operation *op, mlir::FlatSymbolRefAttr param,
                                   mlir::SymbolTableCollection &tables);
/// This rank's shard, all layers: as the runtime holds it; on programs of one rank that is the parameter.
mlir::RankedTensorType heldType(graph::ParameterOp parameter);
/// A packed parameter: a layer number where it is stacked, and `elements` in one layer, unless they are not
/// known (-1).
mlir::LogicalResult verifyPacked(mlir::Operation *op, mlir::FlatSymbolRefAttr param, mlir::Value layer,
                                 int64_t elements, mlir::SymbolTableCollection &tables);
/// Operands and results of products: types with a packed form are those that products take.
mlir::LogicalResult verifyProductType(mlir::Operation *op, llvm::StringRef what, mlir::Type element);

} // namespace tessera::exec
#endif
