// Loops whose rounds run side by side on groups of a block's threads.
#ifndef TESSERA_LIB_TARGET_CUDA_SHAREDLOOPS_H
#define TESSERA_LIB_TARGET_CUDA_SHAREDLOOPS_H

#include "Touches.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera {

/// Rounds of a loop that may run at once (`tessera.apart`, bounds that are known); 1: one after the other.
int64_t roundsApart(scf::ForOp loop);

/// Threads that work on one round of each loop that a block of `threads` threads shares: as many as a round
/// has use for, and at least two groups of them. A round touches only what the threads of its group need not
/// meet for, so that no barrier stands in it.
DenseMap<Operation *, int64_t> findSharedLoops(func::FuncOp kernel, int64_t threads);

/// What `touch`, of an op in a loop that `threads` threads share, is over all `rounds`: round i is for group
/// i mod the number of groups. Where a place follows from data it may be anything.
Touch touchOfRounds(const Touch &touch, scf::ForOp loop, int64_t rounds, int64_t group, int64_t threads);

} // namespace tessera

#endif
