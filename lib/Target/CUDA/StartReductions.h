// What a reduction begins with.
#ifndef TESSERA_LIB_TARGET_CUDA_STARTREDUCTIONS_H
#define TESSERA_LIB_TARGET_CUDA_STARTREDUCTIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tessera {

/// On a tile op: for each output the constant that it begins with in place of what is in memory, or unit.
inline constexpr llvm::StringLiteral kStartsAttr = "tessera.starts";

/// The constant that output `output` of `op` begins with; null: what is in memory.
mlir::TypedAttr startOf(mlir::linalg::LinalgOp op, unsigned output);

} // namespace tessera

#endif
