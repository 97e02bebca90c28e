//===- LoopLayouts.h - How what loops carry and hand on lies ----*- C++ -*-===//
//
// A body is placed for itself, and what its loop carries lies as propagation says; so does what backward
// reads of forward, which goes from loop to loop as a stack. Where bodies run otherwise, both are moved in
// each iteration. This lays them as suits the bodies, by time, and writes the choice where propagation wrote
// its own.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_LOOPLAYOUTS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_LOOPLAYOUTS_H

#include "Propagate/ShardingAttributes.h"
#include "Reshard/CachedReshardCosts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::dist {

/// A rank holds no more of any of them than before. Bodies are placed twice where no other layout could gain
/// a hundredth; else some more times for each of them.
void layLoops(mlir::func::FuncOp function, const ShardingAttributes &written, RegionCosts &costs);

} // namespace tessera::dist
#endif
