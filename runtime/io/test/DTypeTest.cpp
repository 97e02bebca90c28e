#include "tessera/runtime/io/ModelFile.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
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

// Blocks that are put together of parts (io/Quantization.h).
static bool ofSafetensors(DType type) {
  return type == DType::FP8 || type == DType::INT4_32 || type == DType::INT4_64 || type == DType::INT4_128;
}

// Sign, exponent and fraction by arithmetic.
static float eightBitFloat(uint8_t code) {
  int exponent = code >> 3 & 15, fraction = code & 7;
  double value = (code & 127) == 127 ? NAN
                 : exponent == 0     ? std::ldexp(fraction, -9)
                                     : std::ldexp(8 + fraction, exponent - 10);
  return float(code & 128 ? -value : value);
}

TEST(Dequantize, EveryFloatOfEightBits) {
  std::vector<uint8_t> codes(256);
  for (size_t i = 0; i < 256; ++i)
    codes[i] = uint8_t(i);
  std::vector<float> out(256);
  dequantize(DType::F8_E4M3, codes.data(), 256, out.data());
  for (size_t i = 0; i < 256; ++i)
    expectSameFloat(out[i], eightBitFloat(uint8_t(i)), i);
  // With a scale that rounds, from a place that is not aligned.
  std::vector<uint8_t> blocks(1 + 2 * 132);
  const float scale = 0.1f;
  for (size_t b = 0; b < 2; ++b) {
    std::memcpy(&blocks[1 + b * 132], &scale, 4);
    std::memcpy(&blocks[1 + b * 132 + 4], &codes[b * 128], 128);
  }
  dequantize(DType::FP8, &blocks[1], 256, out.data());
  for (size_t i = 0; i < 256; ++i)
    expectSameFloat(out[i], scale * eightBitFloat(uint8_t(i)), i);
}

TEST(Dequantize, FourBitsAreCodesLessAZero) {
  for (DType type : {DType::INT4_32, DType::INT4_64, DType::INT4_128}) {
    const int64_t n = blockElements(type);
    std::vector<uint8_t> block(static_cast<size_t>(blockBytes(type)));
    ASSERT_EQ(blockBytes(type), 3 + n / 2);
    const uint16_t scale = floatToHalf(-0.75f);
    std::memcpy(block.data(), &scale, 2);
    block[2] = 16;
    auto code = [](int64_t i) { return int(i * 7 + i / 32) % 16; };
    for (int64_t i = 0; i < n; ++i)
      block[size_t(3 + i / 32 * 16 + i % 16)] |= uint8_t(code(i) << i % 32 / 16 * 4);
    std::vector<float> out(static_cast<size_t>(n));
    dequantize(type, block.data(), n, out.data());
    for (int64_t i = 0; i < n; ++i)
      EXPECT_EQ(out[size_t(i)], -0.75f * float(code(i) - 16)) << i;
  }
}

TEST(Narrow, MadeUpBlocksAreTheNearestCodes) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> x(256), back(256);
  for (float &value : x)
    value = normal(random);
  x[5] = 0;
  for (auto [type, bound] : {std::pair<DType, float>{DType::FP8, 1.0f / 16},
                             {DType::INT4_32, 0},
                             {DType::INT4_64, 0},
                             {DType::INT4_128, 0}}) {
    std::vector<uint8_t> blocks(size_t(bytesOf(type, 256)));
    traits(type).narrow(x.data(), 256, blocks.data());
    dequantize(type, blocks.data(), 256, back.data());
    auto [least, most] = std::minmax_element(x.begin(), x.end());
    const float step = (*most - *least) / 15;
    for (size_t i = 0; i < 256; ++i)
      EXPECT_LE(std::fabs(back[i] - x[i]), bound > 0 ? bound * std::fabs(x[i]) + 1e-4f : 0.76f * step)
          << dtypeName(type) << " " << i;
  }
}

// All that a block of MXFP4 can hold, whatever its scale, comes back as it is: the largest too.
TEST(Narrow, MadeUpMxfp4HoldsWhatItCan) {
  for (float scale : {1.0f, 0x1p-9f, 0x1p20f}) {
    std::vector<float> x, back(32);
    for (int i = 0; i < 4; ++i)
      for (float value : {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f})
        x.push_back(i % 2 ? -value * scale : value * scale);
    std::vector<uint8_t> block(size_t(bytesOf(DType::MXFP4, 32)));
    traits(DType::MXFP4).narrow(x.data(), 32, block.data());
    dequantize(DType::MXFP4, block.data(), 32, back.data());
    for (size_t i = 0; i < 32; ++i)
      EXPECT_EQ(back[i], x[i]) << i;
  }
}

// What the package `gguf` makes of the same blocks (test/Inputs/make_blocks.py).
TEST(Dequantize, BlocksOfEveryTypeAreWhatAnotherReaderSees) {
  auto file = ModelFile::open(TESSERA_BLOCKS);
  ASSERT_TRUE(bool(file)) << file.failure().message();
  int types = 0;
  for (DType type : allDTypes()) {
    if (!isQuantized(type) || ofSafetensors(type))
      continue;
    ++types;
    const TensorInfo *blocks = (*file)->find(std::string(dtypeName(type)) + ".blocks");
    const TensorInfo *values = (*file)->find(std::string(dtypeName(type)) + ".values");
    ASSERT_TRUE(blocks && values) << dtypeName(type);
    ASSERT_EQ(bytesOf(type, values->elements), int64_t(blocks->bytes)) << dtypeName(type);
    // All at once, and from a place that is not aligned.
    std::vector<uint8_t> shifted(blocks->bytes + 1);
    std::memcpy(shifted.data() + 1, blocks->data, blocks->bytes);
    std::vector<float> got(size_t(values->elements)), want(got.size());
    dequantize(type, shifted.data() + 1, values->elements, got.data());
    std::memcpy(want.data(), values->data, values->bytes);
    for (size_t i = 0; i < got.size(); ++i)
      expectSameFloat(got[i], want[i], i);
  }
  EXPECT_EQ(types, 9);
}

TEST(Dequantize, DoublesRoundToNearest) {
  const double values[] = {1.0 + 0x1p-24, 1.0 + 0x1.8p-24, 1e300};
  float out[3];
  dequantize(DType::F64, values, 3, out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], 1.0f + 0x1p-23f);
  EXPECT_EQ(out[2], INFINITY);
}

TEST(Narrow, GivesBackEveryHalfAndBfloat16) {
  std::vector<uint16_t> all(65536), back(65536);
  std::vector<float> wide(65536);
  for (size_t i = 0; i < 65536; ++i)
    all[i] = uint16_t(i);
  for (DType type : {DType::F16, DType::BF16}) {
    traits(type).widen(all.data(), 65533, wide.data());
    traits(type).narrow(wide.data(), 65533, back.data());
    for (size_t i = 0; i < 65533; ++i)
      if (std::isnan(wide[i])) {
        float again;
        traits(type).widen(&back[i], 1, &again);
        EXPECT_TRUE(std::isnan(again)) << i;
      } else {
        EXPECT_EQ(back[i], all[i]);
      }
  }
}

TEST(Narrow, RoundsToNearestWithTiesToEven) {
  auto half = [](float x) {
    // In a vector of 8 and alone: two pieces of code.
    float values[9] = {x, x, x, x, x, x, x, x, x};
    uint16_t out[9];
    traits(DType::F16).narrow(values, 9, out);
    EXPECT_EQ(out[0], out[8]) << x;
    return halfToFloat(out[8]);
  };
  EXPECT_EQ(half(1 + 0x1p-11f), 1.0f);
  EXPECT_EQ(half(1 + 0x3p-11f), 1 + 0x1p-9f);
  EXPECT_EQ(half(1 + 0x1.1p-11f), 1 + 0x1p-10f);
  EXPECT_EQ(half(65519.0f), 65504.0f);
  EXPECT_EQ(half(65520.0f), INFINITY);
  EXPECT_EQ(half(-1e30f), -INFINITY);
  EXPECT_EQ(half(0x1p-25f), 0.0f);
  EXPECT_EQ(half(0x1.8p-25f), 0x1p-24f);
  EXPECT_EQ(half(0x1.ffffp-15f), 0x1p-14f); // the largest subnormal rounds up to a normal number
  EXPECT_TRUE(std::isnan(half(NAN)));
  auto bfloat = [](float x) {
    std::vector<float> values(17, x); // a vector of 16 and one alone
    std::vector<uint16_t> out(17);
    traits(DType::BF16).narrow(values.data(), 17, out.data());
    EXPECT_EQ(out[0], floatToBfloat16(x)) << x;
    EXPECT_EQ(out[16], floatToBfloat16(x)) << x;
    return bfloat16ToFloat(out[0]);
  };
  EXPECT_EQ(bfloat(1 + 0x1p-8f), 1.0f);
  EXPECT_EQ(bfloat(1 + 0x3p-8f), 1 + 0x1p-6f);
  EXPECT_EQ(bfloat(3.4e38f), INFINITY);
  EXPECT_EQ(bfloat(0x1.8p-133f), 0x1p-132f); // subnormal
  EXPECT_TRUE(std::isnan(bfloat(NAN)));
  EXPECT_TRUE(std::isnan(bfloat(std::numeric_limits<float>::signaling_NaN())));
}

TEST(Pack, PutsGroupsOfARowSideBySide) {
  // 3 rows of 5, from rows of 7, into a block of 4.
  std::vector<float> rows(21);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = float(i);
  std::vector<uint16_t> packed(4 * 6, 0xFFFF), row(5);
  traits(DType::BF16).pack(rows.data(), 7, 3, 5, 4, packed.data());
  auto at = [&](size_t i) { return packed[i] == 0xFFFF ? -1.0f : bfloat16ToFloat(packed[i]); };
  const float want[] = {0,  1,  7,  8,  14, 15, -1, -1, 2,  3,  9,  10,
                        16, 17, -1, -1, 4,  -1, 11, -1, 18, -1, -1, -1};
  for (size_t i = 0; i < 24; ++i)
    EXPECT_EQ(at(i), want[i]) << i;
  traits(DType::BF16).unpackRow(packed.data(), 1, 5, 4, row.data());
  for (size_t j = 0; j < 5; ++j)
    EXPECT_EQ(bfloat16ToFloat(row[j]), float(7 + j));
}

TEST(Pack, GivesRowsBackInEveryTypeThatHasAForm) {
  std::vector<float> rows(50 * 37);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = float(int(i % 201) - 100);
  for (DType type : {DType::F32, DType::F16, DType::BF16}) {
    std::vector<uint8_t> packed(64 * 48 * 4), row(37 * 4);
    std::vector<float> wide(37);
    traits(type).pack(rows.data(), 37, 50, 37, 64, packed.data());
    for (int64_t i = 0; i < 50; ++i) {
      traits(type).unpackRow(packed.data(), i, 37, 64, row.data());
      traits(type).widen(row.data(), 37, wide.data());
      for (int64_t j = 0; j < 37; ++j)
        EXPECT_EQ(wide[size_t(j)], rows[size_t(i * 37 + j)]) << dtypeName(type) << " " << i << " " << j;
    }
  }
}

TEST(Reduce, RoundsNarrowSumsOnce) {
  // 1 + 2^-8 + 2^-8 is 1 + 2^-7; adding one at a time in bfloat16 stays at 1.
  const uint16_t one = floatToBfloat16(1), small = floatToBfloat16(0x1p-8f);
  const void *sources[] = {&one, &small, &small};
  uint16_t sum;
  traits(DType::BF16).reduce(ReduceOp::Sum, sources, 3, &sum, 1);
  EXPECT_EQ(bfloat16ToFloat(sum), 1 + 0x1p-7f);
}

TEST(Reduce, KeepsNaN) {
  const float numbers[] = {1, NAN, 3};
  for (int rotation = 0; rotation < 3; ++rotation) {
    const void *sources[3];
    for (int i = 0; i < 3; ++i)
      sources[i] = &numbers[(i + rotation) % 3];
    float got;
    traits(DType::F32).reduce(ReduceOp::Max, sources, 3, &got, 1);
    EXPECT_TRUE(std::isnan(got)) << rotation;
  }
}

TEST(DTypeNames, AreReadAsWritten) {
  for (int i = 0; i < int(allDTypes().size()); ++i) {
    DType type = DType(i);
    if (const char *name = traits(type).name)
      EXPECT_EQ(dtypeFromName(name), type);
    EXPECT_EQ(dtypeFromFileName(dtypeName(type)), isQuantized(type) ? std::nullopt : std::optional(type));
  }
  EXPECT_EQ(dtypeFromName("BF16"), std::nullopt);
}
