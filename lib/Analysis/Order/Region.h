//===- Region.h - The bytes of an access, in any round of the loops around it -===//
#ifndef TESSERA_LIB_ANALYSIS_ORDER_REGION_H
#define TESSERA_LIB_ANALYSIS_ORDER_REGION_H

#include "tessera/Analysis/Arena/ArenaProgram.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace tessera::order {

inline int64_t roundsOf(const ArenaLoop &loop) { return (loop.most + loop.step - 1) / loop.step; }

/// [begin, begin + bytes) of a memory, where begin = constant + sum of factor * index of the loop at that
/// depth.
struct Region {
  int memory = 0;
  int64_t constant = 0, bytes = 0;
  llvm::SmallVector<std::pair<int, int64_t>, 2> factors; ///< (depth, bytes a count); by depth, none 0

  bool sameForm(const Region &o) const {
    return memory == o.memory && constant == o.constant && bytes == o.bytes && factors == o.factors;
  }
  int64_t factor(int depth) const {
    for (auto [d, f] : factors)
      if (d == depth)
        return f;
    return 0;
  }
};

Region regionOf(const ArenaProgram &program, const ArenaAccess &access);

struct Span {
  int64_t begin, end;
};
/// All bytes that it may be, over all rounds of `loops` (outermost first).
Span spanOf(const Region &region, llvm::ArrayRef<const ArenaLoop *> loops);

/// Whether `before` and `after` may be the same bytes. Loops around both are the same up to `same` of them,
/// in the same round; if `later`, both are also in the next loop, `after` some rounds later. Exact where
/// indices of one loop have equal factors on both sides, or one index is left; else it may say yes in vain.
bool mayMeet(const Region &before, llvm::ArrayRef<const ArenaLoop *> beforeLoops, const Region &after,
             llvm::ArrayRef<const ArenaLoop *> afterLoops, int same, bool later);

} // namespace tessera::order
#endif
