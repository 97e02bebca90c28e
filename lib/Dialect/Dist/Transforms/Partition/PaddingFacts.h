//===- PaddingFacts.h - What stands in the padding of a value ---*- C++ -*-===//
//
// For values with shardings in their types. Padding is finite where it arises (inputs, collectives), and zero
// in parameters; what becomes of it is read off sharding rules: an op hands finite numbers on unless its rule
// says `unbounded`.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PARTITION_PADDINGFACTS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PARTITION_PADDINGFACTS_H

#include "tessera/Analysis/Sharding/Mesh.h"

#include "mlir/IR/Value.h"

namespace tessera::dist {

/// Dimension `dim` does not divide over the axes that split it.
bool isPadded(mlir::Value value, int64_t dim, const Mesh &mesh);

/// The padding of `value` along `dim` is `neutral` already: a mask wrote it, perhaps one that the op was
/// written out with.
bool isMasked(mlir::Value value, int64_t dim, double neutral);

/// The padding of `value` along `dim` is zero: a mask wrote zeros, it is a parameter, padded with zeros at
/// load, or a layer of a stack of them, or gathered along other dimensions.
bool isZeroPadded(mlir::Value value, int64_t dim);

/// No infinity and no NaN stands in the padding of `value` along `dim`: zero times it is zero. Follows the
/// dimension to where its padding arises, through loops too.
bool isFinitePadded(mlir::Value value, int64_t dim, const Mesh &mesh);

} // namespace tessera::dist
#endif
