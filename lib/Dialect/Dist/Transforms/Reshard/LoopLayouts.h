//===- LoopLayouts.h - How what loops carry and hand on lies ----*- C++ -*-===//
//
// A body is placed for itself, and what its loop carries lies as propagation says; so does what backward
// reads of forward, which goes from loop to loop as a stack. Where bodies run otherwise, both are moved in
// each iteration. This lays them as suits the bodies, by time, and writes the choice where propagation wrote
// its own. Where axes of what is carried lie on other dimensions, or more of them do, less may be sent than
// by any body that is free to choose: a few such layouts are tried, too.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_LOOPLAYOUTS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_LOOPLAYOUTS_H

#include "Propagate/ShardingAttributes.h"
#include "Reshard/CachedReshardCosts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::dist {

/// A rank holds no more of any of them than before. Bodies are priced twice, and once more for each layout
/// that is tried; blocks around loops that carry something, too.
void layLoops(mlir::func::FuncOp function, const ShardingAttributes &written, RegionCosts &costs);

} // namespace tessera::dist
#endif
