//===- CheckAttributes.h - Written shardings are sound ----------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_CHECKATTRIBUTES_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_CHECKATTRIBUTES_H

#include "tessera/Dialect/Dist/IR/Dist.h"

namespace tessera::dist {

/// The attributes that dist-propagate writes, or a person: one sound sharding for each tensor.
mlir::LogicalResult checkAttributes(mlir::ModuleOp module, const Mesh &mesh);

} // namespace tessera::dist
#endif
