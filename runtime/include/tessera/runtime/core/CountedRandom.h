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

// Rows of many numbers, which a vector unit makes: a row's key is 64 counted random bits, and a number of it
// is 32 bits by the key and the number's column. Two products of 32 bits and the key between them; that they
// look random is measured (docs/Dropout.md).
inline constexpr uint32_t kColumnStep = 0x9e3779b9u;
inline constexpr int kFirstWordShift = 16, kWordShift = 15;
inline constexpr uint32_t kFirstWordFactor = 0x21f0aaadu, kSecondWordFactor = 0xd35a2d97u;

constexpr uint32_t randomWord(uint64_t key, uint32_t column) {
  uint32_t z = uint32_t(key) + column * kColumnStep;
  z = (z ^ (z >> kFirstWordShift)) * kFirstWordFactor;
  z ^= uint32_t(key >> 32);
  z = (z ^ (z >> kWordShift)) * kSecondWordFactor;
  return z ^ (z >> kWordShift);
}

// A number of a row is dropped where its word is below this: a share of `probability`, in [0, 1), of 2^32.
// Exact: a float32 has 24 bits.
constexpr uint32_t dropThreshold(float probability) {
  return uint32_t(uint64_t(double(probability) * 0x1p32));
}

} // namespace tessera::runtime
#endif
