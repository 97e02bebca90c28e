// Which accesses are ordered, and which are found not to be.
#include "AccessHistory.h"

#include <gtest/gtest.h>
#include <random>

namespace tessera::runtime {
namespace {

TaskPlace at(int64_t lane, uint64_t time, Clock after) {
  return {lane, time, std::make_shared<const Clock>(std::move(after))};
}

TEST(AccessHistory, OrderedAccessesDoNotConflict) {
  AccessHistory history;
  EXPECT_FALSE(history.add(at(0, 1, {}), {{0, 8, true}}, "a"));
  EXPECT_FALSE(history.add(at(0, 2, {1}), {{0, 8, true}}, "b"));  // the same lane
  EXPECT_FALSE(history.add(at(1, 1, {2}), {{0, 8, false}}, "c")); // after both
  EXPECT_FALSE(history.add(at(2, 1, {2}), {{0, 8, false}}, "d")); // reads as c does
  EXPECT_EQ(history.size(), 4u);
}

TEST(AccessHistory, UnorderedAccessesConflict) {
  AccessHistory history;
  EXPECT_FALSE(history.add(at(0, 1, {}), {{0, 8, false}, {16, 24, true}}, "a"));
  auto reads = history.add(at(1, 1, {}), {{8, 17, false}}, "b");
  ASSERT_TRUE(reads);
  EXPECT_EQ(reads->task, "a");
  EXPECT_TRUE(reads->otherWrites);
  EXPECT_FALSE(reads->writes);
  EXPECT_EQ(reads->begin, 16u);
  EXPECT_EQ(reads->end, 17u);
  auto writes = history.add(at(1, 1, {}), {{4, 6, true}}, "b");
  ASSERT_TRUE(writes);
  EXPECT_FALSE(writes->otherWrites);
  EXPECT_TRUE(writes->writes);
  EXPECT_FALSE(history.add(at(1, 1, {}), {{0, 8, false}, {8, 16, true}}, "b")); // beside it
}

// A kernel says what it touched when it has run, after tasks that come after it have been added.
TEST(AccessHistory, LateReportsAreHeldToWhatCameLater) {
  AccessHistory history;
  EXPECT_FALSE(history.add(at(1, 1, {1}), {{0, 8, true}}, "later"));
  EXPECT_FALSE(history.add(at(0, 1, {}), {{0, 8, true}}, "earlier, reported late"));
  EXPECT_TRUE(history.add(at(0, 2, {1}), {{0, 8, true}}, "unordered, reported late"));
}

TEST(AccessHistory, ForgetsWhatEverythingComesAfter) {
  AccessHistory history;
  for (uint64_t time = 1; time <= 4; ++time)
    EXPECT_FALSE(history.add(at(0, time, {}), {{0, 8, true}}, "a"));
  history.forget({3});
  EXPECT_EQ(history.size(), 1u);
  EXPECT_TRUE(history.add(at(1, 1, {3}), {{0, 8, true}}, "b"));
}

// Long lists of ranges give what a comparison byte by byte gives.
TEST(AccessHistory, FindsConflictsOfStridedAccesses) {
  std::mt19937 random(1);
  int conflicts = 0;
  for (int round = 0; round < 2000; ++round) {
    char touched[2][64] = {};
    std::vector<TouchedBytes> lists[2];
    for (int task : {0, 1})
      for (int i = 0; i < 4; ++i) {
        uintptr_t begin = random() % 60, end = begin + random() % 5;
        bool writes = random() % 4 == 0;
        lists[task].push_back({begin, end, writes});
        for (uintptr_t byte = begin; byte < end; ++byte)
          touched[task][byte] |= writes ? 2 : 1;
      }
    bool expected = false;
    for (int byte = 0; byte < 64; ++byte)
      expected |= touched[0][byte] && touched[1][byte] && ((touched[0][byte] | touched[1][byte]) & 2);
    AccessHistory history;
    EXPECT_FALSE(history.add(at(0, 1, {}), lists[0], "a"));
    EXPECT_EQ(history.add(at(1, 1, {}), lists[1], "b").has_value(), expected);
    conflicts += expected;
  }
  EXPECT_GT(conflicts, 200);
  EXPECT_LT(conflicts, 1800);
}

} // namespace
} // namespace tessera::runtime
