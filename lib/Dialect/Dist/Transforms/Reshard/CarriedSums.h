//===- CarriedSums.h - Sums that stay open through loops --------*- C++ -*-===//
//
// Propagation shards what a loop carries, but leaves no sum open. Where a carried value only ever joins
// linear ops on its way to the next iteration (gradients added up over micro-batches), it may stay partial
// through the whole loop: the initial value is contributed by one rank, and one reduction after the loop
// takes the place of one in each iteration. So may a stack that the loop returns (a gradient of each layer),
// over axes that do not split it. This decides by time, loop by loop, inner ones first, and writes the choice
// where propagation wrote the rest.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_CARRIEDSUMS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_CARRIEDSUMS_H

#include "Propagate/ShardingAttributes.h"
#include "Reshard/CachedReshardCosts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::dist {

/// Loops without such a value or stack cost nothing; of others every body is looked at for each sum that
/// could stay open and be worth it, and placed where the look is better.
void keepCarriedSums(mlir::func::FuncOp function, const ShardingAttributes &written, RegionCosts &costs);

} // namespace tessera::dist
#endif
