#include "tessera/runtime/data/RowPermutation.h"

#include "tessera/runtime/core/ShardReader.h"

namespace tessera::data {

// Four rounds of independent functions look random from outside; small halves want more.
static constexpr uint64_t rounds = 8;
// Numbers drawn for other things with the same seed are others.
static constexpr uint64_t streamOfShuffles = 0x73687566666c65u; // "shuffle"

RowPermutation::RowPermutation(int64_t size, uint64_t seed, int64_t epoch)
    : size_(uint64_t(size)), seed_(runtime::randomBits(seed, streamOfShuffles, uint64_t(epoch))) {
  while (halfBits_ < 31 && uint64_t(1) << 2 * halfBits_ < size_)
    ++halfBits_;
}

int64_t RowPermutation::at(int64_t place) const {
  const uint64_t mask = (uint64_t(1) << halfBits_) - 1;
  uint64_t row = uint64_t(place);
  do {
    uint64_t left = row >> halfBits_, right = row & mask;
    for (uint64_t round = 0; round < rounds; ++round) {
      uint64_t next = left ^ (runtime::randomBits(seed_, round, right) & mask);
      left = right;
      right = next;
    }
    row = left << halfBits_ | right;
  } while (row >= size_);
  return int64_t(row);
}

} // namespace tessera::data
