#include "tessera/runtime/schedule/CostText.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::schedule;

TEST(CostText, DurationsAreWordsOfAFile) {
  Costs costs = parseCosts("# two stages\nF=4,5.5 I=4\tlink=2 # ms\nW=1\n", "delays").take();
  EXPECT_EQ(costs.forward, (std::vector<double>{4, 5.5}));
  EXPECT_EQ(costs.backwardInput, (std::vector<double>{4}));
  EXPECT_EQ(costs.backwardWeight, (std::vector<double>{1}));
  EXPECT_EQ(costs.link, (std::vector<double>{2}));
  EXPECT_TRUE(costs.pair.empty());
  EXPECT_TRUE(checkCosts(costs, 2));
  EXPECT_EQ(checkCosts(costs, 3).failure().why, "F has 2 numbers");
}

TEST(CostText, WhatIsNotNamedTakesNoTime) {
  Costs costs = parseCosts("F=3", "delays").take();
  EXPECT_EQ(costs.duration({Kind::Forward, 0, 0}), 3);
  EXPECT_EQ(costs.duration({Kind::Backward, 0, 0}), 0);
  EXPECT_EQ(costs.link, (std::vector<double>{0}));
}

TEST(CostText, WhatIsNoDurationIsAnError) {
  auto why = [](const char *text) { return parseCosts(text, "delays").failure().why; };
  EXPECT_EQ(why("F=4 G=3"), "\"G=3\" is no duration");
  EXPECT_EQ(why("F"), "\"F\" is no duration");
  EXPECT_EQ(why("hold=3"), "\"hold=3\" is no duration");
  EXPECT_EQ(why("F=1 F=2"), "F is given twice");
  EXPECT_EQ(why("F=1,,2"), "F=1,,2: \"\" is no number from 0 on");
  EXPECT_EQ(why("link=-1"), "link=-1: \"-1\" is no number from 0 on");
  EXPECT_EQ(why("W=nan"), "W=nan: \"nan\" is no number from 0 on");
}
