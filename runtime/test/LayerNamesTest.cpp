#include "tessera/runtime/core/LayerNames.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

TEST(LayerNames, APatternSaysWhichLayersAStackHolds) {
  EXPECT_EQ(layerName("l.{}.w", 3), "l.3.w");
  EXPECT_EQ(layerName("l.{i+4}.w", 3), "l.7.w");
  EXPECT_EQ(layerName("l.{2i}.w", 3), "l.6.w");
  EXPECT_EQ(layerName("l.{2i+1}", 3), "l.7");
  EXPECT_EQ(layerName("{12i+30}.w", 2), "54.w");
  for (int64_t step : {1, 2, 16})
    for (int64_t first : {0, 1, 25})
      EXPECT_EQ(layerName("l." + layerPlace(step, first), 7), "l." + std::to_string(7 * step + first));
}

// What is not written as layerPlace writes it is a part of the name.
TEST(LayerNames, OtherBracesAreNoPattern) {
  for (const char *name : {"",
                           "w",
                           "{",
                           "}{",
                           "l.{",
                           "l.{i}.w",
                           "l.{1i+2}",
                           "l.{i+0}",
                           "l.{02i}",
                           "l.{0i+1}",
                           "l.{2}",
                           "l.{i+}",
                           "l.{2i+1 }",
                           "l.{i-1}",
                           "l.{+1}",
                           "l.{j}",
                           "l.{2i+1x}",
                           "l.{expert}",
                           "l.{i+1234567890}",
                           "l.{99999999999999999999i}"}) {
    EXPECT_FALSE(layerPattern(name)) << name;
    EXPECT_EQ(layerName(name, 3), name);
  }
  EXPECT_EQ(layerName("{expert}.{i+1}", 3), "{expert}.4"); // the first that is one
  EXPECT_EQ(layerName("{{}}", 3), "{3}");
}
