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

} // namespace tessera::io
#endif
