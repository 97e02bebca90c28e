#include "tessera/runtime/io/DType.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace tessera::io;

// Independent of the implementation: the value from sign, exponent and fraction by arithmetic.
static float halfByArithmetic(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double value = exponent == 0    ? std::ldexp(fraction, -24)
                 : exponent == 31 ? (fraction ? NAN : INFINITY)
                                  : std::ldexp(1024 + fraction, exponent - 25);
  return float(bits & 0x8000 ? -value : value);
}

static void expectSameFloat(float got, float want, size_t index) {
  if (std::isnan(want))
    EXPECT_TRUE(std::isnan(got)) << index;
  else
    EXPECT_TRUE(got == want && std::signbit(got) == std::signbit(want))
        << index << ": " << got << " for " << want;
}

TEST(Dequantize, EveryHalfInEveryAlignment) {
  std::vector<uint16_t> halves(65536 + 1);
  for (size_t i = 0; i < 65536; ++i)
    halves[i] = uint16_t(i);
  // 65533 elements: vectors and a rest; an odd address.
  std::vector<uint8_t> shifted(2 * halves.size() + 1);
  std::memcpy(shifted.data() + 1, halves.data(), 2 * 65536);
  std::vector<float> out(65536);
  dequantize(DType::F16, shifted.data() + 1, 65533, out.data());
  for (size_t i = 0; i < 65533; ++i)
    expectSameFloat(out[i], halfByArithmetic(uint16_t(i)), i);
  for (size_t i = 0; i < 65536; ++i)
    expectSameFloat(halfToFloat(uint16_t(i)), halfByArithmetic(uint16_t(i)), i);
}

TEST(Dequantize, BFloat16IsTheUpperHalfOfAFloat) {
  const uint16_t words[] = {0x3F80, 0xC000, 0x0001, 0x7F80, 0x4049};
  float out[5];
  dequantize(DType::BF16, words, 5, out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], -2.0f);
  EXPECT_EQ(out[2], std::ldexp(1.0f, -133));
  EXPECT_EQ(out[3], INFINITY);
  EXPECT_EQ(out[4], 3.140625f);
}

TEST(Dequantize, Q8_0BlocksAreScaleTimesByte) {
  std::vector<uint8_t> block(34);
  block[0] = 0x00, block[1] = 0x38; // 0.5
  for (int i = 0; i < 32; ++i)
    block[size_t(2 + i)] = uint8_t(int8_t(i * 8 - 128));
  float out[32];
  dequantize(DType::Q8_0, block.data(), 32, out);
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], 0.5f * float(i * 8 - 128));
}

TEST(Dequantize, Q4_1KeepsLowNibblesFirst) {
  std::vector<uint8_t> block(20);
  block[0] = 0x00, block[1] = 0x40; // scale 2
  block[2] = 0x00, block[3] = 0xBC; // minimum -1
  for (int i = 0; i < 16; ++i)
    block[size_t(4 + i)] = uint8_t(i | (15 - i) << 4);
  float out[32];
  dequantize(DType::Q4_1, block.data(), 32, out);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(out[i], 2.0f * float(i) - 1);
    EXPECT_EQ(out[16 + i], 2.0f * float(15 - i) - 1);
  }
}

TEST(Dequantize, DoublesRoundToNearest) {
  const double values[] = {1.0 + 0x1p-24, 1.0 + 0x1.8p-24, 1e300};
  float out[3];
  dequantize(DType::F64, values, 3, out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], 1.0f + 0x1p-23f);
  EXPECT_EQ(out[2], INFINITY);
}
