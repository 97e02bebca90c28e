// To which multiples addresses in a kernel are known to be aligned.
#ifndef TESSERA_LIB_TARGET_CUDA_ALIGNMENT_H
#define TESSERA_LIB_TARGET_CUDA_ALIGNMENT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tessera {

/// The largest access of a thread.
inline constexpr int64_t kLargestAccess = 16;

/// Bytes of an element as it lies in memory.
int64_t bytesInMemory(mlir::Type element);

/// Bytes to whose multiples the first element of a memref is aligned.
int64_t knownAlignment(mlir::Value memref);

/// The same of what `operand` of a tile op touches at a place of its iteration space whose dimension `dim` is
/// a multiple of `multiple`.
int64_t accessAlignment(mlir::linalg::LinalgOp op, mlir::OpOperand &operand, int64_t dim, int64_t multiple);

} // namespace tessera

#endif
