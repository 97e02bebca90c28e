//===- GraphToLinalg.h - Tiles of graph ops as linalg -----------*- C++ -*-===//
//
// Every op of dialect graph that runs inside a kernel says here how a tile of its result follows from tiles
// of its operands (TileLoweringOpInterface). What is emitted stands in one block: linalg on static tensors,
// tensor slices and scalars. Sums are taken in float32.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CONVERSION_GRAPHTOLINALG_GRAPHTOLINALG_H
#define TESSERA_CONVERSION_GRAPHTOLINALG_GRAPHTOLINALG_H

#include "mlir/IR/DialectRegistry.h"

namespace tessera {

/// Attaches TileLoweringOpInterface to the ops of dialect graph when it is loaded.
void registerTileLowering(mlir::DialectRegistry &registry);

} // namespace tessera

#endif
