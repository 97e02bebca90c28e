//===- Dist.h - The dist dialect -------------------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_DIST_IR_DIST_H
#define TESSERA_DIALECT_DIST_IR_DIST_H

#include "tessera/Analysis/Sharding/Sharding.h"
#include "tessera/Interfaces/Collective.h"
#include "tessera/Interfaces/Interfaces.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tessera/Dialect/Dist/IR/DistDialect.h.inc"
#include "tessera/Dialect/Dist/IR/DistEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Dist/IR/DistAttrs.h.inc"

namespace tessera::dist {
/// One factor per dimension, the same in operand and result: what comes in goes out, in any sharding.
ShardingRule identityRule(mlir::Value value);
/// What is said to propagation is no use behind it: the operand carries no sharding yet.
llvm::LogicalResult verifyPropagationWord(mlir::Operation *op);
} // namespace tessera::dist

#include "tessera/Dialect/Dist/IR/PropagationWordOpInterface.h.inc"
#define GET_OP_CLASSES
#include "tessera/Dialect/Dist/IR/DistOps.h.inc"

namespace tessera::dist {

/// The sharding in `type`'s encoding, or null.
ShardingAttr getShardingAttr(mlir::Type type);
/// `type` with its encoding replaced (null: removed).
mlir::RankedTensorType withSharding(mlir::RankedTensorType type, ShardingAttr sharding);
/// Global shape of a tensor on any rung: `global` of the encoding if there, else the type's shape.
llvm::SmallVector<int64_t> globalShape(mlir::RankedTensorType type);
/// `type` as it was before partition: global shape, no encoding.
mlir::RankedTensorType globalType(mlir::RankedTensorType type);
/// The local type of a global, sharded type: shape ceil-divided, `global` filled in.
mlir::RankedTensorType localType(mlir::RankedTensorType type, const Mesh &mesh);
/// The mesh that `symbol` names, looked up from `from`; null with an error on `from` if there is none.
MeshOp lookupMesh(mlir::Operation *from, mlir::FlatSymbolRefAttr symbol);
/// The only mesh of a module (rungs step and below have at most one), or null.
MeshOp getMesh(mlir::ModuleOp module);
/// Error text if `sharding` is none for a tensor of rank `rank` on `mesh`: axis unknown or used twice, a
/// sub-axis that does not divide or is the whole axis, wrong rank, ...; empty if it is sound. toSharding asks
/// for a sound one.
std::string checkSharding(ShardingAttr sharding, const Mesh &mesh, int64_t rank);
/// Axis lists as ArrayAttr of AxisRefAttr.
mlir::ArrayAttr axesAttr(mlir::MLIRContext *context, llvm::ArrayRef<AxisRef> axes, const Mesh &mesh);
AxisList fromAxesAttr(mlir::ArrayAttr axes, const Mesh &mesh);
/// Error text if an entry of `axes` is no axis or sub-axis of `mesh`; empty if all are. fromAxesAttr asks for
/// a sound list.
std::string checkAxes(mlir::ArrayAttr axes, const Mesh &mesh);
/// Takes `suffix` off the minor end of `axes` (splitting a digit where needed); false, and `axes` as it was,
/// if it does not end so.
bool dropMinorAxes(AxisList &axes, llvm::ArrayRef<AxisRef> suffix);
/// Adds `suffix` at the minor end, joining what continues.
void appendMinorAxes(AxisList &axes, llvm::ArrayRef<AxisRef> suffix);
/// Takes every axis of `taken` out of the set `axes` (sorted; digits are split where needed); false if one is
/// not in it.
bool removeAxes(AxisList &axes, llvm::ArrayRef<AxisRef> taken);
/// Checks one type's sharding against its mesh; reports on `op`.
llvm::LogicalResult verifyShardedType(mlir::Operation *op, mlir::Type type, llvm::StringRef what);
/// Checks that an op whose operands and results carry shardings agrees with its rule: equal axes per factor,
/// none on a factor that needs replication, sharded reductions and linear uses of partial operands as partial
/// results. Types without encodings pass.
llvm::LogicalResult verifyOpSharding(ShardingRuleOpInterface op);

} // namespace tessera::dist
#endif
