// Counted random numbers: bits that follow from a seed, a stream and a count alone, so that they may be made
// in any order and on any machine. The runtime computes them, the interpreter does, and the compiler writes
// code that does (docs/Runtime.md, "Choosing tokens").
#ifndef TESSERA_RUNTIME_CORE_COUNTEDRANDOM_H
#define TESSERA_RUNTIME_CORE_COUNTEDRANDOM_H

#include <cstdint>

namespace tessera::runtime {

// splitmix64: what a count is multiplied by, and its finalizer: rounds `z = (z ^ z >> shift) * factor`, then
// a last shift.
inline constexpr uint64_t kCountStep = 0x9e3779b97f4a7c15u;
struct MixRound {
  int shift;
  uint64_t factor;
};
inline constexpr MixRound kMixRounds[] = {{30, 0xbf58476d1ce4e5b9u}, {27, 0x94d049bb133111ebu}};
inline constexpr int kLastMixShift = 31;

constexpr uint64_t mixBits(uint64_t z) {
  for (MixRound round : kMixRounds)
    z = (z ^ (z >> round.shift)) * round.factor;
  return z ^ (z >> kLastMixShift);
}

// 64 bits that look random: the finalizer three times over independent inputs.
constexpr uint64_t randomBits(uint64_t seed, uint64_t stream, uint64_t count) {
  return mixBits(mixBits(mixBits(seed + kCountStep) ^ (stream + kCountStep)) + count * kCountStep);
}

} // namespace tessera::runtime
#endif
