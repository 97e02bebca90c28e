//===- OutputLayouts.h - How what functions hand out lies -------*- C++ -*-===//
//
// Propagation says how the outputs of functions lie: logits have the batch over whatever hidden has it over.
// Who reads them before they are handed out may do with less than that takes: an arg max of logits that stay
// where a split vocabulary makes them sends keys, not logits. This lays outputs that nobody asked anything of
// as costs least in all functions that hand them out or are given them, and writes the choice where
// propagation wrote its own.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_OUTPUTLAYOUTS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_OUTPUTLAYOUTS_H

#include "Propagate/ShardingAttributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::dist {

/// On an output, and on an input that another function gives: nobody asked how it lies. dist-annotate says
/// so; layOutputs takes it away.
inline constexpr llvm::StringLiteral kUnaskedAttr = "dist.unasked";

/// A rank holds no more of an output than before. The functions' own blocks, not those of their loops, are
/// placed twice where no other layout could gain a hundredth of what is sent; else some more times.
void layOutputs(mlir::ModuleOp module, const ShardingAttributes &written, ReshardCosts &costs);

} // namespace tessera::dist
#endif
