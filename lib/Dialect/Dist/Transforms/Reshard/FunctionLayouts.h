//===- FunctionLayouts.h - What is decided before anything is written -*- C++ -*-===//
//
// How what functions hand out lies, then what their loops carry and hand on, both written as attributes. Then
// every block is placed, so that placeBlock finds its decision known when reshards are inserted. All this of
// several functions side by side.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_FUNCTIONLAYOUTS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_FUNCTIONLAYOUTS_H

#include "Propagate/ShardingAttributes.h"
#include "Reshard/CachedReshardCosts.h"

#include "tessera/AutoParallel/SearchWork.h"

namespace tessera::dist {

/// Writes the layouts and, where `ahead` says so, places every block by them. Returns what was searched for
/// each block: nothing where none is placed. Emits an error and fails where an op has no sharding rule.
mlir::FailureOr<llvm::DenseMap<mlir::Block *, SearchWork>>
layOut(mlir::ModuleOp module, const ShardingAttributes &written, RegionCosts &costs, bool ahead);

} // namespace tessera::dist
#endif
