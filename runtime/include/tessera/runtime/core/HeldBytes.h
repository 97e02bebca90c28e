// Bytes of what a rank holds, for who allocates it and for the compiler, which says it before.
#ifndef TESSERA_RUNTIME_CORE_HELDBYTES_H
#define TESSERA_RUNTIME_CORE_HELDBYTES_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tessera::runtime {

// What is held begins in a line of 64 bytes of its own.
constexpr int64_t wholeLines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// A weight of a rank, by what a layer takes.
struct HeldWeight {
  int64_t layers = 1;
  int64_t bytes = 0; // as products and lookups read it
  bool isPacked = false;
  int64_t apart = 0;      // from a layer to the next where more than that; packed ones lie without gaps
  int64_t plainBytes = 0; // of a second form, as code reads and writes it; 0: there is none
  std::vector<int64_t> each = {}; // of packed layers that differ, instead of `bytes`

  int64_t stride() const { return isPacked ? bytes : std::max(apart, bytes); }
  // Of a layer from the first one on; of the number of layers, all of them.
  int64_t offset(int64_t layer) const {
    if (each.empty())
      return layer * stride();
    int64_t sum = 0;
    for (int64_t i = 0; i < layer; ++i)
      sum += each[size_t(i)];
    return sum;
  }
  int64_t first() const { return wholeLines(offset(layers)); } // the second form lies behind these
  int64_t total() const { return first() + wholeLines(layers * plainBytes); }
};

} // namespace tessera::runtime
#endif
