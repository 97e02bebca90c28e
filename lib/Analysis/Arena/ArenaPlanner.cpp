//===- ArenaPlanner.cpp - places for buffers in one arena -------------------===//

#include "tessera/Analysis/Arena/ArenaPlanner.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <limits>
#include <numeric>

namespace tessera {

ArenaPlan planArena(llvm::ArrayRef<BufferRequest> requests, int64_t alignment) {
  ArenaPlan plan;
  plan.offsets.assign(requests.size(), 0);
  llvm::SmallVector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) { return requests[a].bytes > requests[b].bytes; });

  llvm::SmallVector<size_t> placed; // by offset
  for (size_t i : order) {
    const BufferRequest &request = requests[i];
    assert(request.last >= request.first && request.bytes >= 0);
    int64_t bytes = int64_t(llvm::alignTo(request.bytes, alignment));
    if (bytes == 0)
      continue;
    int64_t best = -1, bestGap = std::numeric_limits<int64_t>::max(), top = 0;
    for (size_t j : placed) {
      const BufferRequest &other = requests[j];
      if (other.last < request.first || request.last < other.first)
        continue;
      int64_t gap = plan.offsets[j] - top;
      if (gap >= bytes && gap < bestGap) {
        best = top;
        bestGap = gap;
      }
      top = std::max(top, plan.offsets[j] + int64_t(llvm::alignTo(other.bytes, alignment)));
    }
    plan.offsets[i] = best >= 0 ? best : top;
    plan.bytes = std::max(plan.bytes, plan.offsets[i] + bytes);
    placed.insert(
        llvm::upper_bound(placed, i, [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; }),
        i);
  }
  return plan;
}

int64_t arenaLowerBound(llvm::ArrayRef<BufferRequest> requests, int64_t alignment) {
  int64_t most = 0;
  // The maximum is reached where some buffer begins.
  for (const BufferRequest &at : requests) {
    int64_t alive = 0;
    for (const BufferRequest &request : requests)
      if (request.first <= at.first && at.first <= request.last)
        alive += int64_t(llvm::alignTo(request.bytes, alignment));
    most = std::max(most, alive);
  }
  return most;
}

} // namespace tessera
