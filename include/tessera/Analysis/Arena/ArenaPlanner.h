//===- ArenaPlanner.h - Places for buffers in one arena ---------*- C++ -*-===//
//
// Plain data, no IR. Every buffer lives over an interval of a program's linear order (a loop's body once:
// what lives across the loop spans it). Buffers whose intervals overlap get disjoint places. Offline dynamic
// storage allocation is NP-hard; greedy by size (Pisarchyk and Lee, arXiv 2001.03288) is within a few percent
// of the lower bound on networks.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_ARENA_ARENAPLANNER_H
#define TESSERA_ANALYSIS_ARENA_ARENAPLANNER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace tessera {

struct BufferRequest {
  int64_t bytes = 0; ///< 0 is allowed: such a buffer takes no room
  int64_t first = 0; ///< step that writes it first
  int64_t last = 0;  ///< last step that touches it, inclusive; last >= first
};

struct ArenaPlan {
  llvm::SmallVector<int64_t> offsets; ///< one per request, multiples of the alignment
  int64_t bytes = 0;                  ///< exact end of the highest buffer, rounded up to the alignment
};

/// Places all requests: largest first, each at the smallest gap that holds it among the already placed
/// buffers alive at the same time (best fit; lowest offset on ties). Deterministic. O(n^2 log n).
ArenaPlan planArena(llvm::ArrayRef<BufferRequest> requests, int64_t alignment = 64);

/// Most bytes (aligned) alive at one step: no plan can be smaller.
int64_t arenaLowerBound(llvm::ArrayRef<BufferRequest> requests, int64_t alignment = 64);

} // namespace tessera
#endif
