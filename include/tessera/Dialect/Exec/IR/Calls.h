//===- Calls.h - What an op asks the runtime for ----------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_EXEC_IR_CALLS_H
#define TESSERA_DIALECT_EXEC_IR_CALLS_H

#include "tessera/Dialect/Dist/IR/Dist.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"

namespace llvm::json {
class Array;
class Object;
} // namespace llvm::json

namespace tessera::exec {

class ExecCollectiveOpInterface;
class MatmulOp;

/// The tables of a manifest (docs/Manifest.md) while it is written. Calls name their rows by number; equal
/// things share one.
class ManifestTables {
public:
  virtual ~ManifestTables() = default;
  virtual int64_t param(mlir::FlatSymbolRefAttr symbol) const = 0;
  virtual int64_t matmul(MatmulOp op) = 0;
  virtual int64_t group(mlir::ArrayAttr axes) = 0;
  virtual int64_t collective(ExecCollectiveOpInterface op) = 0;

  virtual const Mesh &getMesh() const = 0;
  /// Axes, and the axes of every dimension, as the manifest writes them.
  virtual llvm::json::Array axesJson(mlir::ArrayAttr axes) const = 0;
  virtual llvm::json::Array shardingJson(dist::ShardingAttr sharding) const = 0;
};

} // namespace tessera::exec

#include "tessera/Dialect/Exec/IR/ExecCallInterface.h.inc"
#include "tessera/Dialect/Exec/IR/ExecCollectiveInterface.h.inc"

#endif
