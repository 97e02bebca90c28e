// The shapes of mma.sync: what a lane's registers hold.
#ifndef TESSERA_STANDIN_MMA_H
#define TESSERA_STANDIN_MMA_H

#include <cstdint>

namespace standin {

enum class Element : uint8_t { F16, BF16, TF32 };

inline unsigned bytesOf(Element element) { return element == Element::TF32 ? 4 : 2; }

// m is 16 and n is 8 in all of them, sums are float. A register has 4 bytes: one or two elements that lie one
// behind the other along k.
struct MmaShape {
  uint8_t k;
  Element type; // of both operands

  unsigned wordsOfA() const { return 16 * k * bytesOf(type) / 4 / 32; }
  unsigned wordsOfB() const { return 8 * k * bytesOf(type) / 4 / 32; }
  static constexpr unsigned kSums = 16 * 8 / 32; // of a lane
  uint32_t packed() const { return uint32_t(k) << 8 | uint32_t(type); }
  static MmaShape unpack(uint32_t word) { return {uint8_t(word >> 8), Element(word & 255)}; }
};

} // namespace standin
#endif
