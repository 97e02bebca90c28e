// Attention as a kernel function: online softmax over blocks of keys (FlashAttention, arXiv 2205.14135).
#ifndef TESSERA_TARGET_CPU_ATTENTIONKERNEL_H
#define TESSERA_TARGET_CPU_ATTENTIONKERNEL_H

#include "tessera/Target/CPU/TargetInfo.h"
#include "tessera/Target/Forms/Attention.h"

namespace tessera {

/// The function of AttentionFunction (tessera/Target/Forms/Attention.h) with the vectors of `unit`
/// (CPUTarget::vectorUnit). Iterations [0, attentionIterations(shape, unit.lanes)) may be split in any way;
/// contiguous equal parts cost about the same.
mlir::func::FuncOp buildAttentionKernel(mlir::Location loc, llvm::StringRef name, const AttentionShape &shape,
                                        const VectorUnit &unit);

/// The number of iterations of the kernel's parallel loop (ts_launch count).
int64_t attentionIterations(const AttentionShape &shape, unsigned lanes);

} // namespace tessera

#endif
