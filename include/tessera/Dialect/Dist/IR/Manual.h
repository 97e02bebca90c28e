//===- Manual.h - Programs of one rank over some axes -----------*- C++ -*-===//
#ifndef TESSERA_DIALECT_DIST_IR_MANUAL_H
#define TESSERA_DIALECT_DIST_IR_MANUAL_H

#include "tessera/Dialect/Dist/IR/Dist.h"

#define GET_OP_CLASSES
#include "tessera/Dialect/Dist/IR/DistManualOps.h.inc"

namespace tessera::dist {

/// Of all manual computations that the block is part of.
AxisList reservedAxes(mlir::Block &block, const Mesh &mesh);

} // namespace tessera::dist

#endif
