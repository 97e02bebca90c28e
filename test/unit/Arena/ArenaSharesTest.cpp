//===- ArenaSharesTest.cpp - what the bytes of an arena are for -------------===//

#include "tessera/Analysis/Arena/ArenaShares.h"

#include "gtest/gtest.h"

#include <random>

using namespace tessera;

TEST(ArenaShares, ABufferCountsForItself) {
  EXPECT_TRUE(shareArena({}).empty());
  EXPECT_EQ(shareArena({{0, 64, 3}}), llvm::SmallVector<int64_t>({64}));
}

TEST(ArenaShares, TheLowestRankTakesTheBytesThatItCovers) {
  // The second one lies over the end of the first, the third in the midst of both.
  EXPECT_EQ(shareArena({{0, 100, 2}, {80, 100, 1}, {90, 5, 0}}), llvm::SmallVector<int64_t>({80, 95, 5}));
}

TEST(ArenaShares, OfEqualRanksTheFirst) {
  EXPECT_EQ(shareArena({{0, 64, 1}, {0, 128, 1}}), llvm::SmallVector<int64_t>({64, 64}));
}

TEST(ArenaShares, EveryByteCountsOnce) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    llvm::SmallVector<ArenaClaim> claims;
    for (int i = 0, n = int(random() % 12); i < n; ++i)
      claims.push_back({int64_t(random() % 60), int64_t(random() % 30), unsigned(random() % 4)});
    llvm::SmallVector<int64_t> expected(claims.size(), 0);
    for (int64_t byte = 0; byte < 100; ++byte) {
      int owner = -1;
      for (int i = 0; i < int(claims.size()); ++i)
        if (claims[i].offset <= byte && byte < claims[i].offset + claims[i].bytes &&
            (owner < 0 || claims[i].rank < claims[owner].rank))
          owner = i;
      if (owner >= 0)
        ++expected[owner];
    }
    EXPECT_EQ(shareArena(claims), expected) << "round " << round;
  }
}
