// Pieces that blocks of weights (DType.h) are made of, for who expands them and for who lays them out anew.
#ifndef TESSERA_RUNTIME_IO_BLOCKPARTS_H
#define TESSERA_RUNTIME_IO_BLOCKPARTS_H

#include <cstdint>
#include <cstring>

namespace tessera::io {

// Scale and minimum, 6 bits each, of one of the 8 sub-blocks of a Q4_K or Q5_K.
struct SubScale {
  uint8_t scale, minimum;
};
// `packed`: the 12 bytes behind the two halves.
inline SubScale subScale(const uint8_t *packed, int s) {
  if (s < 4)
    return {uint8_t(packed[s] & 63), uint8_t(packed[s + 4] & 63)};
  return {uint8_t((packed[s + 4] & 15) | (packed[s - 4] >> 6) << 4),
          uint8_t((packed[s + 4] >> 4) | (packed[s] >> 6) << 4)};
}

// Twice the values of a 4-bit float (sign, 2 bits of exponent, 1 of fraction).
constexpr int8_t mxfp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Half of 2^(exponent - 127).
inline float mxfp4Scale(uint8_t exponent) {
  uint32_t word = exponent < 2 ? 0x00200000u << exponent : uint32_t(exponent - 1) << 23;
  float scale;
  std::memcpy(&scale, &word, 4);
  return scale;
}

// A float of 8 bits: sign, 4 bits of exponent, 3 of fraction; all ones are no number (OCP 8-bit floating
// point specification, E4M3). Without subnormal numbers on the way: those are slow.
inline float e4m3ToFloat(uint8_t code) {
  uint32_t magnitude = uint32_t(code & 127) << 20, sign = uint32_t(code & 128) << 24;
  float value, least;
  uint32_t word = magnitude + (magnitude < 1u << 23 ? 121u << 23 : 120u << 23),
           lead = magnitude < 1u << 23 ? 121u << 23 : 0;
  std::memcpy(&value, &word, 4);
  std::memcpy(&least, &lead, 4);
  value -= least;
  std::memcpy(&word, &value, 4);
  word |= sign;
  if ((code & 127) == 127)
    word = 0x7FC00000u | sign;
  std::memcpy(&value, &word, 4);
  return value;
}

} // namespace tessera::io
#endif
