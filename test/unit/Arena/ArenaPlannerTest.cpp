//===- ArenaPlannerTest.cpp - places of buffers in an arena -----------------===//

#include "tessera/Analysis/Arena/ArenaPlanner.h"

#include "gtest/gtest.h"

#include <random>

using namespace tessera;

static void expectSound(llvm::ArrayRef<BufferRequest> requests, const ArenaPlan &plan, int64_t alignment) {
  int64_t end = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % alignment, 0);
    int64_t iEnd = plan.offsets[i] + requests[i].bytes;
    end = std::max(end, iEnd);
    for (size_t j = 0; j < i; ++j) {
      bool together = requests[i].first <= requests[j].last && requests[j].first <= requests[i].last;
      bool apart = iEnd <= plan.offsets[j] || plan.offsets[j] + requests[j].bytes <= plan.offsets[i];
      EXPECT_TRUE(!together || apart) << "buffers " << i << " and " << j << " are alive together and overlap";
    }
  }
  EXPECT_LE(end, plan.bytes);
  EXPECT_LT(plan.bytes - end, alignment);
}

TEST(ArenaPlanner, NothingNeedsNothing) { EXPECT_EQ(planArena({}).bytes, 0); }

TEST(ArenaPlanner, BuffersOfOneStepLieSideBySide) {
  BufferRequest requests[] = {{100, 0, 1}, {64, 1, 2}};
  ArenaPlan plan = planArena(requests);
  EXPECT_EQ(plan.bytes, 128 + 64);
  expectSound(requests, plan, 64);
}

TEST(ArenaPlanner, DeadBuffersGiveTheirPlace) {
  // A chain: each step reads the last value and writes the next. Two places are enough.
  llvm::SmallVector<BufferRequest> requests;
  for (int64_t i = 0; i < 10; ++i)
    requests.push_back({1024, i, i + 1});
  EXPECT_EQ(planArena(requests).bytes, 2048);
}

TEST(ArenaPlanner, LastUseAndFirstWriteInOneStepStayApart) {
  BufferRequest requests[] = {{64, 0, 3}, {64, 3, 4}};
  EXPECT_EQ(planArena(requests).bytes, 128);
}

TEST(ArenaPlanner, SmallBufferTakesTheTightestGap) {
  // Around step 5 there are gaps of 256 (at 512) and of 64 (at 1792) between long-lived buffers.
  BufferRequest requests[] = {{512, 0, 9}, {256, 0, 4}, {1024, 0, 9}, {64, 0, 4}, {900, 0, 9}, {64, 5, 9}};
  ArenaPlan plan = planArena(requests);
  expectSound(requests, plan, 64);
  EXPECT_EQ(plan.bytes, arenaLowerBound(requests));
}

TEST(ArenaPlanner, EmptyBuffersTakeNoRoom) {
  BufferRequest requests[] = {{0, 0, 1}, {10, 0, 1}, {0, 1, 1}};
  EXPECT_EQ(planArena(requests).bytes, 64);
}

TEST(ArenaPlanner, RandomProgramsAreSoundAndTight) {
  std::mt19937 random(7);
  double worst = 0;
  for (int round = 0; round < 200; ++round) {
    llvm::SmallVector<BufferRequest> requests;
    for (int i = 0, n = 1 + int(random() % 40); i < n; ++i) {
      int64_t first = random() % 30;
      requests.push_back({int64_t(random() % 5000), first, first + int64_t(random() % 6)});
    }
    ArenaPlan plan = planArena(requests, 64);
    expectSound(requests, plan, 64);
    int64_t bound = arenaLowerBound(requests);
    ASSERT_GE(plan.bytes, bound);
    if (bound > 0)
      worst = std::max(worst, double(plan.bytes) / double(bound));
  }
  EXPECT_LT(worst, 1.35);
}
