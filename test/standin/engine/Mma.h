// The shapes of mma.sync: what a lane's registers hold.
#ifndef TESSERA_STANDIN_MMA_H
#define TESSERA_STANDIN_MMA_H

#include <cstdint>

namespace standin {

enum class Element : uint8_t { F16, BF16, TF32, S8, U8, E4M3, E5M2, F32, S32 };

inline unsigned bytesOf(Element element) {
  switch (element) {
  case Element::F16:
  case Element::BF16:
    return 2;
  case Element::S8:
  case Element::U8:
  case Element::E4M3:
  case Element::E5M2:
    return 1;
  default:
    return 4;
  }
}

// m is 16 and n is 8 in all of them. A register has 4 bytes: one, two or four elements that lie one behind
// the other along k.
struct MmaShape {
  uint8_t k;
  Element a, b, c, d;
  bool saturates;

  unsigned wordsOfA() const { return 16 * k * bytesOf(a) / 4 / 32; }
  unsigned wordsOfB() const { return 8 * k * bytesOf(b) / 4 / 32; }
  unsigned wordsOfC() const { return 16 * 8 * bytesOf(c) / 4 / 32; }
  unsigned wordsOfD() const { return 16 * 8 * bytesOf(d) / 4 / 32; }
  uint32_t packed() const {
    return uint32_t(k) << 24 | uint32_t(a) << 20 | uint32_t(b) << 16 | uint32_t(c) << 12 | uint32_t(d) << 8 |
           saturates;
  }
  static MmaShape unpack(uint32_t word) {
    return {uint8_t(word >> 24),      Element(word >> 20 & 15), Element(word >> 16 & 15),
            Element(word >> 12 & 15), Element(word >> 8 & 15),  (word & 1) != 0};
  }
};

} // namespace standin
#endif
