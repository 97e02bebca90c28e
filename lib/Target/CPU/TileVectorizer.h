// One linalg op on buffers to loops over vectors.
#ifndef TESSERA_LIB_TARGET_CPU_TILEVECTORIZER_H
#define TESSERA_LIB_TARGET_CPU_TILEVECTORIZER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace tessera {

/// Replaces `op` (buffer semantics, static loop bounds) by loops over vectors of `lanes` elements. Fails,
/// with the IR untouched, when the op has no vector form; its scalar loops are then the caller's business.
llvm::LogicalResult vectorizeTileOp(mlir::RewriterBase &rewriter, mlir::linalg::LinalgOp op, unsigned lanes);

} // namespace tessera

#endif
