//===- StackLayouts.h - How what loops hand to loops lies -------*- C++ -*-===//
//
// What backward reads of forward goes from loop to loop as a stack, and each body is placed for itself: the
// stack lies as propagation says. Where the loop that makes it, or the one that reads it, runs otherwise,
// each layer is moved there and back. This lays such stacks as suits both loops, by time, and writes the
// choice where propagation wrote its own.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_STACKLAYOUTS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_STACKLAYOUTS_H

#include "Propagate/ShardingAttributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::dist {

/// A rank holds no more of a stack than before. Bodies are placed twice where no other layout could gain a
/// hundredth; else some more times for each stack.
void layStacks(mlir::func::FuncOp function, const ShardingAttributes &written, ReshardCosts &costs);

} // namespace tessera::dist
#endif
