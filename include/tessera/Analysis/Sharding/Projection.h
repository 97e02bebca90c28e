//===- Projection.h - Tensor shardings as factor shardings ------*- C++ -*-===//
//
// A tensor's sharding is stated per dimension, an op's rule per factor. Projecting walks the axes of a
// dimension over its factors, major to minor: a factor takes axes until it is fully sharded (an axis is split
// where only a part of it fits); the minor-most factor takes whatever is left, also if that does not divide
// it (its shards are then padded). Axes that cannot go to a factor, because it is not the minor-most and they
// share no divisor with what is left of it, are that factor's overflow: kept, but not propagated. Cost:
// linear in the number of axes and factors.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_SHARDING_PROJECTION_H
#define TESSERA_ANALYSIS_SHARDING_PROJECTION_H

#include "tessera/Analysis/Sharding/ShardingRule.h"

namespace tessera {

/// How one tensor shards one factor.
struct FactorSharding {
  bool present = false;   ///< the tensor has this factor; if not, the rest means nothing
  bool open = false;      ///< may take more axes
  bool minorMost = false; ///< last factor of its dimension: may be sharded unevenly
  AxisList axes;          ///< major to minor
  AxisList overflow;      ///< axes of the dimension that no factor could take; they follow `axes`
};

/// One tensor seen through a rule: factors[f] for every factor f of the rule.
struct TensorProjection {
  llvm::SmallVector<FactorSharding, 8> factors;
  AxisList blocked; ///< replicated and partial axes: no factor may take them
};

TensorProjection project(const TensorFactors &tensor, const Sharding &sharding,
                         llvm::ArrayRef<Factor> factors);

/// The sharding whose projection this is; dimensions without factors, replicated and partial axes come from
/// `old`. A factor's axes are dropped if a more major factor of the same dimension is not fully sharded: that
/// would be a strided view.
Sharding unproject(const TensorProjection &projection, const TensorFactors &tensor, const Sharding &old,
                   llvm::ArrayRef<Factor> factors);

/// Longest prefix of `axes` of which a factor of `size` can take all: each must divide what is left of the
/// factor, or a part of it is taken. A minor-most factor takes everything.
AxisList fittingPrefix(llvm::ArrayRef<AxisRef> axes, int64_t size, bool minorMost);

} // namespace tessera
#endif
