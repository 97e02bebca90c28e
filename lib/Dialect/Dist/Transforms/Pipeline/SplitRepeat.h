//===- SplitRepeat.h - One loop as two, one after the other -------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PIPELINE_SPLITREPEAT_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PIPELINE_SPLITREPEAT_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "llvm/ADT/BitVector.h"

namespace tessera::dist {

/// The same layers in two loops, `loop` itself gone: the first makes the results in `wanted`, and what those
/// need; the second the others, and nothing but those. What the second reads of what the first makes in a
/// layer comes as a stack, a result of the first behind the wanted ones; what is the same in all layers is
/// made again. What follows from stacks for which `isKnown` holds, and from nothing that is carried, the
/// first makes for the second, unless it takes more bytes than what it is made of. Gives the first loop;
/// nothing happens, and `loop` comes back, where one of the two would have nothing to give.
graph::RepeatOp splitRepeat(graph::RepeatOp loop, llvm::BitVector wanted,
                            llvm::function_ref<bool(mlir::Value)> isKnown);

} // namespace tessera::dist
#endif
