// A permutation of rows that nobody holds in memory.
#ifndef TESSERA_RUNTIME_DATA_ROWPERMUTATION_H
#define TESSERA_RUNTIME_DATA_ROWPERMUTATION_H

#include <cstdint>

namespace tessera::data {

// A permutation of 0 .. size - 1, a function of (size, seed, epoch): the same on every rank and after every
// resume. A Feistel network over the smallest power of four that is not below `size`; what it puts beyond the
// end goes through it again until it does not (cycle walking), fewer than four times on average. Memory O(1).
class RowPermutation {
public:
  RowPermutation(int64_t size, uint64_t seed, int64_t epoch);
  // Which row is `place`-th, 0 <= place < size.
  int64_t at(int64_t place) const;

private:
  uint64_t size_, seed_;
  int halfBits_ = 1;
};

} // namespace tessera::data
#endif
