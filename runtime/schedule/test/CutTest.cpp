#include "tessera/runtime/schedule/Cut.h"

#include "tessera/runtime/schedule/Generate.h"
#include "tessera/runtime/schedule/Simulate.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace tessera;
using namespace tessera::schedule;

static LayerCosts equalLayers(int64_t layers, double before = 0, double after = 0) {
  return {before, std::vector<double>(size_t(layers), 1.0), after};
}

// All cuts of `layers` into `stages`.
static void forEachCut(int64_t layers, int32_t stages, const std::function<void(const StageSizes &)> &visit) {
  StageSizes sizes;
  std::function<void(int64_t)> fill = [&](int64_t left) {
    if (int32_t(sizes.size()) + 1 == stages) {
      sizes.push_back(left);
      visit(sizes);
      sizes.pop_back();
      return;
    }
    for (int64_t size = 0; size <= left; ++size) {
      sizes.push_back(size);
      fill(left - size);
      sizes.pop_back();
    }
  };
  fill(layers);
}

static double bottleneck(const LayerCosts &costs, const StageSizes &sizes) {
  std::vector<double> all = stageCosts(costs, sizes);
  return *std::max_element(all.begin(), all.end());
}

TEST(Cut, EqualLayersAreSpreadEvenlyMoreInFront) {
  EXPECT_EQ(*cutLayers(equalLayers(30), 4), (StageSizes{8, 8, 7, 7}));
  EXPECT_EQ(*cutLayers(equalLayers(4), 3), (StageSizes{2, 1, 1}));
  EXPECT_EQ(*cutLayers(equalLayers(7), 1), (StageSizes{7}));
}

TEST(Cut, AHeadCountsAsTheLayersItIsWorth) {
  EXPECT_EQ(*cutLayers(equalLayers(30, 0, 7.9), 4), (StageSizes{10, 9, 9, 2}));
}

TEST(Cut, AStageMayHoldNoLayer) {
  EXPECT_EQ(*cutLayers(equalLayers(4, 0, 9), 3), (StageSizes{2, 2, 0}));
  EXPECT_EQ(*cutLayers(equalLayers(4, 9, 9), 3), (StageSizes{0, 4, 0}));
  EXPECT_EQ(*cutLayers(equalLayers(2), 5), (StageSizes{1, 1, 0, 0, 0}));
}

TEST(Cut, WhatDoesNotFitIsNotMade) {
  auto fits = [](int32_t stage, int64_t begin, int64_t end) { return stage > 0 || end - begin <= 5; };
  EXPECT_EQ((*cutLayers(equalLayers(30, 0, 8), 4, fits))[0], 5);
  auto never = [](int32_t, int64_t begin, int64_t end) { return end - begin <= 7; };
  Result<StageSizes> none = cutLayers(equalLayers(30), 4, never);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.failure().message(),
            "cannot cut layers into stages: no cut of 30 layers into 4 stages fits; "
            "give more stages, or more memory a rank");
}

// The bottleneck is the least of all cuts, and a step by the cut takes at most 1 % longer than by the best.
TEST(Cut, BruteForce) {
  std::mt19937 random(12);
  auto draw = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  double worst = 1;
  for (int round = 0; round < 500; ++round) {
    int32_t stages = 2 + int32_t(random() % 3);
    LayerCosts costs{draw(0, 3), {}, draw(0, 6)};
    // Half of them as models are, all layers equal; half as none is.
    bool equal = random() % 2;
    int64_t layers = 3 + int64_t(random() % 8);
    for (int64_t i = 0; i < layers; ++i)
      costs.layers.push_back(equal ? 2 : draw(0.5, 4));
    Schedule schedule = generate(Name::OneForwardOneBackward, stages, 2 * stages).take();
    auto makespan = [&](const StageSizes &sizes) {
      Costs times;
      times.forward = times.backwardInput = times.backwardWeight = stageCosts(costs, sizes);
      return simulate(schedule, times).makespan;
    };
    StageSizes cut = cutLayers(costs, stages).take();
    double leastBottleneck = bottleneck(costs, cut), ours = makespan(improveCut(cut, makespan)),
           leastMakespan = ours;
    forEachCut(layers, stages, [&](const StageSizes &sizes) {
      double cost = bottleneck(costs, sizes);
      EXPECT_GE(cost, leastBottleneck * (1 - 1e-9));
      // What a step takes is at least what its costliest stage does.
      if (double(2 * stages * 3) * cost < leastMakespan)
        leastMakespan = std::min(leastMakespan, makespan(sizes));
    });
    worst = std::max(worst, ours / leastMakespan);
  }
  EXPECT_LE(worst, 1.01);
}

TEST(Cut, SizesInTextAddUpToTheLayers) {
  EXPECT_EQ(*parseStageSizes("10,9,9,2", 30), (StageSizes{10, 9, 9, 2}));
  EXPECT_EQ(*parseStageSizes("0,4,0", 4), (StageSizes{0, 4, 0}));
  auto error = [](std::string_view text) { return parseStageSizes(text, 30).failure().message(); };
  EXPECT_EQ(error("10,9,9"),
            "cannot cut layers into stages (--stages=10,9,9): the stages have 28 layers, the "
            "model 30; give sizes that add up to 30");
  for (const char *text : {"", "10,,20", "10,x", "-1,31", "30,", "1e1,20", "99999999999999999999"})
    EXPECT_FALSE(parseStageSizes(text, 30)) << text;
  EXPECT_FALSE(parseStageSizes("9223372036854775807,9223372036854775807,32", 30));
}
