//===- RandomReshards.h - Reshards drawn at random --------------*- C++ -*-===//
#ifndef TESSERA_TOOLS_RESHARDFACTS_RANDOMRESHARDS_H
#define TESSERA_TOOLS_RESHARDFACTS_RANDOMRESHARDS_H

#include "tessera/Analysis/Sharding/Notation.h"

#include <random>

namespace tessera {

struct RandomReshard {
  Mesh mesh;
  Shape shape;
  Sharding from, to;
  bool divides = true; ///< every dimension by the shards of both ends
};

/// Rank 1 to 4, one to five axes of 2 to 64 (primes, powers of two, other composites), some cut in two, each on a dimension or unused at
/// either end, now and then partial at the start. Half of the shapes divide; the others have any size up to 5,000. The same for the same
/// seed on every machine.
class RandomReshards {
public:
  explicit RandomReshards(uint64_t seed) : random(seed) {}
  RandomReshard next();

private:
  int64_t pick(int64_t low, int64_t high) { return low + int64_t(random() % uint64_t(high - low + 1)); }
  Sharding sharding(const Mesh &mesh, llvm::ArrayRef<AxisRef> pieces, int rank, bool partial);

  std::mt19937_64 random;
};

} // namespace tessera
#endif
