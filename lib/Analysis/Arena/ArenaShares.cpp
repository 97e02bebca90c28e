//===- ArenaShares.cpp - what the bytes of an arena are for -----------------===//
#include "tessera/Analysis/Arena/ArenaShares.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tessera {

llvm::SmallVector<int64_t> shareArena(llvm::ArrayRef<ArenaClaim> claims) {
  llvm::SmallVector<size_t> order(claims.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) { return claims[a].rank < claims[b].rank; });
  llvm::SmallVector<int64_t> counted(claims.size(), 0);
  std::map<int64_t, int64_t> taken; // begin to end, disjoint, never adjacent
  for (size_t number : order) {
    int64_t begin = claims[number].offset, end = begin + claims[number].bytes;
    if (begin == end)
      continue;
    auto at = taken.upper_bound(begin);
    if (at != taken.begin() && std::prev(at)->second >= begin)
      --at;
    int64_t free = end - begin, first = begin, last = end;
    while (at != taken.end() && at->first <= end) {
      free -= std::max<int64_t>(0, std::min(end, at->second) - std::max(begin, at->first));
      first = std::min(first, at->first);
      last = std::max(last, at->second);
      at = taken.erase(at);
    }
    taken[first] = last;
    counted[number] = free;
  }
  return counted;
}

} // namespace tessera
