//===- EmitCollective.h - Steps of plans as ops -----------------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PARTITION_EMITCOLLECTIVE_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PARTITION_EMITCOLLECTIVE_H

#include "tessera/AutoParallel/ReshardCollectives.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tessera::dist {

/// The op of rung spmd that does `step` to `value`: a collective, or the reshape that sees its piece
/// otherwise. The result has elements of `elementType`, on the mesh `meshName`.
mlir::Value emitCollective(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                           const CollectiveStep &step, mlir::Type elementType, llvm::StringRef meshName,
                           const Mesh &mesh, mlir::StringAttr why);

} // namespace tessera::dist
#endif
