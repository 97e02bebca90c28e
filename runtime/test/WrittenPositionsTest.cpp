#include "WrittenPositions.h"

#include "gtest/gtest.h"

using namespace tessera::runtime;

TEST(WrittenPositions, WithoutRingsARowGoesOnAnywhere) {
  WrittenPositions written(std::nullopt, 3);
  written.add(0, 1000);
  EXPECT_EQ(written.reachable(1), 1);
  EXPECT_EQ(written.reachable(1000), 1000);
}

/// Of 100 positions that are known 104 may have been written: three steps more, and one that is on its way.
TEST(WrittenPositions, ARowGoesBackAsFarAsTheRingReaches) {
  WrittenPositions written(10, 3);
  EXPECT_EQ(written.reachable(0), 0);
  written.add(0, 100);
  EXPECT_EQ(written.reachable(100), 100);
  EXPECT_EQ(written.reachable(94), 94);
  EXPECT_EQ(written.reachable(93), 0);
  EXPECT_EQ(written.reachable(0), 0);
}

/// What an older text left behind the end of a shorter one stands where earlier positions would.
TEST(WrittenPositions, AShorterTextDoesNotMoveTheEndBack) {
  WrittenPositions written(10, 0);
  written.add(0, 100);
  written.add(95, 96);
  EXPECT_EQ(written.reachable(91), 91);
  EXPECT_EQ(written.reachable(90), 0);
  written.add(96, 120);
  EXPECT_EQ(written.reachable(110), 0);
  EXPECT_EQ(written.reachable(111), 111);
}

TEST(WrittenPositions, ANewBeginningForgetsThem) {
  WrittenPositions written(10, 0);
  written.add(0, 100);
  written.add(0, 20);
  EXPECT_EQ(written.reachable(15), 15);
  EXPECT_EQ(written.reachable(10), 0);
}
