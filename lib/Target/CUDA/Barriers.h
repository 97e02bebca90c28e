// Where the threads of a block have to meet between tile ops.
#ifndef TESSERA_LIB_TARGET_CUDA_BARRIERS_H
#define TESSERA_LIB_TARGET_CUDA_BARRIERS_H

#include "TileDistributor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera {

/// Puts a gpu.barrier in front of every op of a kernel, on buffers and not spread yet, that touches what
/// other threads may have touched since the last one, one of the two writing. `spreads`: how each tile op
/// will be spread. `shared`: loops whose rounds run side by side, and the threads of a round. Stores between
/// tile ops are the first thread's, loads everybody's. Fails with an error at an op whose accesses it does
/// not know.
LogicalResult insertBarriers(func::FuncOp kernel, const DenseMap<Operation *, TileSpread> &spreads,
                             const DenseMap<Operation *, int64_t> &shared, int64_t threads);

} // namespace tessera

#endif
