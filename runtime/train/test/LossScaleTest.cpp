// How overflows and steps without one move the scale of the loss.
#include "tessera/runtime/train/LossScale.h"

#include <gtest/gtest.h>

using tessera::train::LossScale;

TEST(LossScale, IsHalvedByAnOverflow) {
  LossScale scale{1024, 7};
  EXPECT_TRUE(scale.next(true));
  EXPECT_EQ(scale.scale, 512);
  EXPECT_EQ(scale.goodSteps, 0);
  EXPECT_TRUE(scale.next(false));
  EXPECT_EQ(scale.scale, 512);
  EXPECT_EQ(scale.goodSteps, 1);
}

TEST(LossScale, IsDoubledAfter2000UpdatesInARow) {
  LossScale scale{1024};
  for (int i = 0; i < 1999; ++i)
    scale.next(false);
  EXPECT_EQ(scale.scale, 1024);
  scale.next(true); // the count begins anew
  for (int i = 0; i < 1999; ++i)
    scale.next(false);
  EXPECT_EQ(scale.scale, 512);
  scale.next(false);
  EXPECT_EQ(scale.scale, 1024);
  EXPECT_EQ(scale.goodSteps, 0);
}

TEST(LossScale, EndsAtOne) {
  LossScale scale{3};
  EXPECT_TRUE(scale.next(true));
  EXPECT_TRUE(scale.next(true));
  EXPECT_EQ(scale.scale, 1);
  EXPECT_FALSE(scale.next(true));
  EXPECT_EQ(scale.scale, 1);
}

TEST(LossScale, StaysWhatFloat32Holds) {
  LossScale scale{0x1p100, LossScale::growth - 1};
  EXPECT_TRUE(scale.next(false));
  EXPECT_EQ(scale.scale, 0x1p100);
}
