//===- OutputLayouts.h - How what functions hand out lies -------*- C++ -*-===//
//
// Propagation gives outputs of functions the axes of what they are made from: logits have the batch over the
// axes that hidden has it over. What reads them inside the function may need less: an arg max of logits that
// stay sharded over the vocabulary sends keys, not logits. Where nobody asked for a layout, this chooses the
// one that costs least in all functions that return the output or take it, and writes it over propagation's.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_OUTPUTLAYOUTS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_OUTPUTLAYOUTS_H

#include "Propagate/ShardingAttributes.h"
#include "Reshard/CachedReshardCosts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::dist {

/// No rank holds more of an output than before. Cost: the functions' own blocks, not those of their loops,
/// are placed twice, and looked at some times and placed once more where another layout could save a
/// hundredth of what is sent.
void layOutputs(mlir::ModuleOp module, const ShardingAttributes &written, RegionCosts &costs);

} // namespace tessera::dist
#endif
