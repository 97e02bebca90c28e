// What products of bfloat16 are left to, on machines that are made up.
#include "Bfloat16Unit.h"
#include "Dnnl.h"

#include <gtest/gtest.h>
#include <vector>

namespace tessera::runtime {
namespace {

// What the system was asked, and its answer.
std::vector<std::pair<long, long>> asked;
long answer = 0;
long archPrctl(long request, long argument) {
  asked.emplace_back(request, argument);
  return answer;
}

Bfloat16Unit chosen(bool avx512, bool amx, long systemSays = 0) {
  asked.clear();
  answer = systemSays;
  return chooseBfloat16Unit({avx512, amx, archPrctl});
}
const std::vector<std::pair<long, long>> permissionForTiles = {{0x1023, 18}}; // as Linux numbers them

TEST(Bfloat16Unit, AmxIsTakenOnceItsTilesAreGranted) {
  EXPECT_EQ(chosen(true, true), Bfloat16Unit::Amx);
  EXPECT_EQ(asked, permissionForTiles);
  EXPECT_EQ(chosen(false, true), Bfloat16Unit::Amx);
  EXPECT_EQ(asked, permissionForTiles);
}

// A kernel before 5.16, or a sandbox that allows no such call.
TEST(Bfloat16Unit, RefusedTilesLeaveTheVectors) {
  EXPECT_EQ(chosen(true, true, -1), Bfloat16Unit::Avx512);
  EXPECT_EQ(asked, permissionForTiles);
  EXPECT_EQ(chosen(false, true, -1), Bfloat16Unit::None);
}

TEST(Bfloat16Unit, WithoutAmxNobodyIsAsked) {
  EXPECT_EQ(chosen(true, false), Bfloat16Unit::Avx512);
  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(chosen(false, false), Bfloat16Unit::None);
  EXPECT_TRUE(asked.empty());
}

TEST(Bfloat16Unit, OfThisMachineItIsWhatProductsGoBy) {
  EXPECT_EQ(hasBfloat16Products(), bfloat16Unit() != Bfloat16Unit::None);
  EXPECT_STREQ(unitName(Bfloat16Unit::Amx), "AMX");
  EXPECT_STREQ(unitName(Bfloat16Unit::Avx512), "AVX512_BF16");
  EXPECT_STREQ(unitName(Bfloat16Unit::None), "float32");
}

} // namespace
} // namespace tessera::runtime
