//===- RandomReshards.h - Reshards drawn at random --------------*- C++ -*-===//
#ifndef TESSERA_AUTOPARALLEL_RANDOMRESHARDS_H
#define TESSERA_AUTOPARALLEL_RANDOMRESHARDS_H

#include "tessera/Analysis/Sharding/Notation.h"

#include <limits>
#include <optional>
#include <random>

namespace tessera {

struct RandomReshard {
  Mesh mesh;
  Shape shape;
  Sharding from, to;
  bool divides = true; ///< every dimension by the shards of both ends
};

/// What is drawn at most; `divides` and `partial` are drawn too where they are not given.
struct RandomReshardLimits {
  int axes = 5;
  int64_t axisSize = 64, devices = std::numeric_limits<int64_t>::max(), dimSize = 5000;
  std::optional<bool> divides; ///< all dimensions by the shards of both ends, or any size up to `dimSize`
  std::optional<bool> partial; ///< a sum may be open at the start
};

/// Rank 1 to 4, one to five axes of 2 to 64 (primes, powers of two, other composites), some cut in two, each
/// on a dimension or unused at either end. The same for the same seed and limits on every machine.
class RandomReshards {
public:
  explicit RandomReshards(uint64_t seed, RandomReshardLimits limits = {}) : random(seed), limits(limits) {}
  RandomReshard next() { return next(limits.divides, limits.partial); }
  RandomReshard next(std::optional<bool> divides, std::optional<bool> partial);

private:
  int64_t pick(int64_t low, int64_t high) { return low + int64_t(random() % uint64_t(high - low + 1)); }
  Sharding sharding(const Mesh &mesh, llvm::ArrayRef<AxisRef> pieces, int rank, bool partial);

  std::mt19937_64 random;
  RandomReshardLimits limits;
};

} // namespace tessera
#endif
