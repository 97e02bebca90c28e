//===- TileLowering.h - Ops that compute tiles ------------------*- C++ -*-===//
#ifndef TESSERA_INTERFACES_TILELOWERING_H
#define TESSERA_INTERFACES_TILELOWERING_H

#include "tessera/Interfaces/Interfaces.h"
#include "tessera/runtime/core/ProductFunction.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace tessera {

/// What the tile of an op in a kernel knows about its place in the global tensor.
class TileContext {
public:
  virtual ~TileContext() = default;
  /// Global index (of type index) of element 0 along `dim` of the tile of `value`, an operand or result of
  /// the op: where the rank's shard begins, plus the kernel's row if the loop runs over `dim`.
  virtual mlir::Value offset(mlir::OpBuilder &builder, mlir::Value value, int64_t dim) = 0;
  /// Index in this rank's array of element 0 along `dim` of the tile of `value` (of the tile's own
  /// dimensions, where a dimension stands as several).
  virtual mlir::Value begin(mlir::OpBuilder &builder, mlir::Value value, int64_t dim) = 0;
  /// Global, unpadded size of `dim` of `value`.
  virtual int64_t globalSize(mlir::Value value, int64_t dim) = 0;
};

/// An array that a tile makes for itself.
struct TileScratch {
  llvm::SmallVector<int, 4> factors; ///< of the tiling rule: one point for each combination
  int64_t bytes = 0;                 ///< of a point
};

} // namespace tessera

#include "tessera/Interfaces/TileLoweringOpInterface.h.inc"

#endif
