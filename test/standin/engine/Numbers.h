// Bits and values of the narrow floating types.
#ifndef TESSERA_STANDIN_NUMBERS_H
#define TESSERA_STANDIN_NUMBERS_H

#include <cstdint>
#include <cstring>

namespace standin {

inline float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline uint32_t toBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

inline float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = bits & 0x7fff;
  if (rest >= 0x7c00) // infinite or no number
    return fromBits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest < 0x400) // a multiple of 2^-24
    return (sign ? -1.0f : 1.0f) * float(rest) * 0x1p-24f;
  return fromBits(sign | ((rest << 13) + (112u << 23)));
}

// To nearest, ties to even.
inline uint16_t floatToHalf(float value) {
  uint32_t bits = toBits(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest > 0x7f800000)
    return uint16_t(sign | 0x7fff);
  if (rest >= 0x477ff000) // 65520 and above
    return uint16_t(sign | 0x7c00);
  if (rest < 0x38800000) // below 2^-14: adding 0.5 puts the last bit of the result at the last bit of a float
    return uint16_t(sign | (toBits(fromBits(rest) + 0.5f) - toBits(0.5f)));
  return uint16_t(sign | (rest + 0xfff + (rest >> 13 & 1) - (112u << 23)) >> 13);
}

inline uint16_t floatToBFloat(float value) {
  uint32_t bits = toBits(value);
  return value != value ? 0x7fff : uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace standin
#endif
