//===- Region.cpp - The bytes of an access ----------------------------------===//

#include "Region.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

namespace tessera::order {

Region regionOf(const ArenaProgram &program, const ArenaAccess &access) {
  const ArenaBuffer &buffer = program.buffers[size_t(access.buffer)];
  Region region{buffer.memory, buffer.offset, access.bytes, {}};
  for (const ArenaLayer &layer : access.layers) {
    region.constant += layer.index.constant * layer.bytes;
    for (auto [depth, factor] : layer.index.factors) {
      auto *it = llvm::find_if(region.factors, [&, depth = depth](auto &f) { return f.first == depth; });
      if (it == region.factors.end())
        it = region.factors.insert(it, {depth, 0});
      it->second += factor * layer.bytes;
    }
  }
  llvm::erase_if(region.factors, [](auto &f) { return f.second == 0; });
  llvm::sort(region.factors);
  return region;
}

namespace {
/// coefficient * n for a whole number 0 <= n <= most.
struct Term {
  int64_t coefficient, most;
};
} // namespace

Span spanOf(const Region &region, llvm::ArrayRef<const ArenaLoop *> loops) {
  Span span{region.constant, region.constant + region.bytes};
  for (auto [depth, factor] : region.factors) {
    const ArenaLoop &loop = *loops[size_t(depth)];
    int64_t farthest = factor * loop.step * (roundsOf(loop) - 1);
    span.begin += std::min<int64_t>(farthest, 0);
    span.end += std::max<int64_t>(farthest, 0);
  }
  return span;
}

/// Whether constant + the terms can be in [low, high].
static bool reaches(int64_t constant, llvm::ArrayRef<Term> terms, int64_t low, int64_t high) {
  int64_t least = constant, most = constant, divisor = 0;
  for (Term term : terms) {
    least += std::min<int64_t>(term.coefficient * term.most, 0);
    most += std::max<int64_t>(term.coefficient * term.most, 0);
    divisor = std::gcd(divisor, term.coefficient);
  }
  low = std::max(low, least);
  high = std::min(high, most);
  if (low > high)
    return false;
  if (divisor == 0)
    return true;
  // All sums differ from the least one by a multiple of the divisor.
  int64_t first = least + (low - least + divisor - 1) / divisor * divisor;
  return first <= high;
}

bool mayMeet(const Region &before, llvm::ArrayRef<const ArenaLoop *> beforeLoops, const Region &after,
             llvm::ArrayRef<const ArenaLoop *> afterLoops, int same, bool later) {
  if (before.memory != after.memory)
    return false;
  int64_t distance = after.constant - before.constant; // from one's begin to the other's
  llvm::SmallVector<Term, 4> terms;
  auto add = [&](int64_t factor, const ArenaLoop &loop, int64_t most) {
    if (factor != 0 && most > 0)
      terms.push_back({factor * loop.step, most});
  };
  auto addIndex = [&](int64_t factor, const ArenaLoop &loop) { add(factor, loop, roundsOf(loop) - 1); };
  for (int depth = 0; depth < same; ++depth)
    addIndex(after.factor(depth) - before.factor(depth), *afterLoops[size_t(depth)]);
  int apart = same;
  if (later) {
    const ArenaLoop &loop = *afterLoops[size_t(same)];
    int64_t factor = after.factor(same);
    if (factor == before.factor(same)) { // one round later, or more
      distance += factor * loop.step;
      add(factor, loop, roundsOf(loop) - 2);
    } else {
      addIndex(factor, loop);
      addIndex(-before.factor(same), loop);
    }
    ++apart;
  }
  for (auto [depth, factor] : after.factors)
    if (depth >= apart)
      addIndex(factor, *afterLoops[size_t(depth)]);
  for (auto [depth, factor] : before.factors)
    if (depth >= apart)
      addIndex(-factor, *beforeLoops[size_t(depth)]);
  return reaches(distance, terms, 1 - after.bytes, before.bytes - 1);
}

} // namespace tessera::order
