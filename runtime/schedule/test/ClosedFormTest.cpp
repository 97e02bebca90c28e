// Every closed form of the facts beside the simulator, and the simulator beside the longest path.
#include "ActionGraph.h"
#include "RandomSchedules.h"

#include "tessera/runtime/schedule/Generate.h"
#include "tessera/runtime/schedule/Text.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace tessera;
using namespace tessera::schedule;

namespace {
struct Size {
  Name name;
  int32_t p, m, v;
};
} // namespace

// Micro-batches of the first round, and of all if there is but one.
static int32_t firstRound(const Size &size) {
  int32_t rounds = std::max(1, size.m / size.p);
  return (size.m + rounds - 1) / rounds;
}

// Makespan over 3·m·v; nothing where there is no form.
static std::optional<int32_t> bubble(const Size &size) {
  const auto [name, p, m, v] = size;
  switch (name) {
  case Name::GPipe:
  case Name::OneForwardOneBackward:
    return 3 * (p - 1);
  case Name::LoopedBfs:
  case Name::Interleaved:
    return 3 * (p - 1) + 3 * (v - 1) * std::max(0, p - m);
  case Name::ZeroBubble:
    if (v > 1 && m < p)
      return std::nullopt;
    return v > 1 ? p - 1 : std::max(p - 1, 2 * p - 1 - m);
  case Name::ZeroBubbleV:
    return std::max(p - 1, 2 * (2 * p - 1 - m));
  case Name::DualPipeV:
    return 2 * (p - 1);
  }
  return std::nullopt;
}

static int32_t peak(const Size &size, int32_t rank) {
  const auto [name, p, m, v] = size;
  switch (name) {
  case Name::GPipe:
    return m;
  case Name::OneForwardOneBackward:
    return std::min(m, p - rank);
  case Name::LoopedBfs:
    return v * m;
  case Name::Interleaved:
    return std::min(v * m, (v - 1) * firstRound(size) + 2 * (p - 1 - rank) + 1);
  case Name::ZeroBubble:
    return std::min(v * m, (v - 1) * firstRound(size) + p);
  case Name::ZeroBubbleV:
    return std::min({2 * m, 2 * p, m + 1 + rank});
  case Name::DualPipeV:
    return 2 * p + 1;
  }
  return 0;
}

static std::vector<Size> allSizes() {
  std::vector<Size> sizes;
  for (int name = 0; name < kNamedSchedules; ++name)
    for (int32_t p = 2; p <= 8; ++p)
      for (int32_t m = Name(name) == Name::DualPipeV ? 2 * p : 1; m <= 4 * p; ++m)
        for (int32_t v = 1; v <= (takesStagesPerRank(Name(name)) ? 4 : 1); ++v)
          sizes.push_back({Name(name), p, m, isVShaped(Name(name)) ? 2 : v});
  return sizes;
}

TEST(ClosedForms, HoldForEverySchedule) {
  std::vector<Size> sizes = allSizes();
  EXPECT_EQ(sizes.size(), 2177u);
  for (const Size &size : sizes) {
    Schedule schedule = generate(size.name, size.p, size.m, size.v).take();
    Simulation run = simulate(schedule);
    ASSERT_TRUE(run.ended());
    std::string what = std::string(scheduleName(size.name)) + " p=" + std::to_string(size.p) +
                       " m=" + std::to_string(size.m) + " v=" + std::to_string(size.v);
    if (auto more = bubble(size)) {
      EXPECT_EQ(run.makespan, 3 * size.m * size.v + *more) << what;
    }
    std::vector<Held> held = heldAtMost(schedule);
    for (int32_t rank = 0; rank < size.p; ++rank) {
      EXPECT_EQ(held[size_t(rank)].activations, peak(size, rank)) << what << " r" << rank;
      EXPECT_EQ(run.busy[size_t(rank)], 3 * size.m * size.v) << what;
    }
    if (size.name == Name::ZeroBubbleV && size.m >= 2 * size.p - 1)
      for (const std::vector<Span> &spans : run.spans) // no rank idles in between
        EXPECT_EQ(spans.back().end - spans.front().begin, 6 * size.m) << what;
  }
}

// m / (m + p - 1), in tenths of a percent.
TEST(ClosedForms, EfficiencyOfOneForwardOneBackward) {
  auto efficiency = [](int32_t p, int32_t m) {
    Simulation run = simulate(generate(Name::OneForwardOneBackward, p, m).take());
    return std::round(1000 * (1 - run.idle())) / 10;
  };
  EXPECT_EQ(efficiency(4, 16), 84.2);
  EXPECT_EQ(efficiency(32, 8), 20.5);
  EXPECT_EQ(efficiency(32, 16), 34.0);
  EXPECT_EQ(efficiency(32, 32), 50.8);
  EXPECT_EQ(efficiency(32, 64), 67.4);
  EXPECT_GE(efficiency(32, 279), 90.0);
}

TEST(ClosedForms, UnequalStages) {
  RandomSchedules random(1);
  for (int i = 0; i < 400; ++i) {
    int32_t p = 2 + random.below(5), m = 1 + random.below(12);
    Schedule gpipe = generate(Name::GPipe, p, m).take();
    Costs costs = random.costs(gpipe, false);
    costs.link = {0};
    auto sum = [](const std::vector<double> &list) { return std::accumulate(list.begin(), list.end(), 0.0); };
    auto most = [](const std::vector<double> &list) { return *std::max_element(list.begin(), list.end()); };
    std::vector<double> backward, both;
    for (size_t s = 0; s < size_t(p); ++s) {
      backward.push_back(costs.backwardInput[s] + costs.backwardWeight[s]);
      both.push_back(backward.back() + costs.forward[s]);
    }
    EXPECT_EQ(simulate(gpipe, costs).makespan,
              sum(costs.forward) + (m - 1) * most(costs.forward) + sum(backward) + (m - 1) * most(backward));
    Schedule other = generate(Name::OneForwardOneBackward, p, m).take();
    EXPECT_LE(simulate(other, costs).makespan, sum(both) + (m - 1) * most(both));
  }
}

TEST(Simulate, TimesAreTheLongestPathsOfNamedSchedules) {
  RandomSchedules random(2);
  for (const Size &size : allSizes()) {
    Schedule schedule = generate(size.name, size.p, size.m, size.v).take();
    Costs costs = random.costs(schedule, random.below(2));
    ASSERT_EQ(simulate(schedule, costs).makespan, longestPath(schedule, costs)) << toString(schedule);
  }
}

TEST(Simulate, TimesAreTheLongestPathsOfRandomSchedules) {
  RandomSchedules random(3);
  for (int i = 0; i < 2000; ++i) {
    Schedule schedule = random.next();
    Costs costs = random.costs(schedule, random.below(2));
    ASSERT_EQ(simulate(schedule, costs).makespan, longestPath(schedule, costs)) << toString(schedule);
  }
}

// Of two micro-batches that are both between F and I, one that is within I, and one between I and W.
TEST(Held, WhatIMakesForWCountsFromItsBeginning) {
  Schedule schedule;
  schedule.microBatches = 2;
  schedule.rankOfStage = {0};
  schedule.ranks = {parseActions("0F0 0F1 0I0 0I1 0W0 0W1").take()};
  Costs costs;
  costs.hold = {8};
  costs.freed = {4};
  costs.made = {6};
  // Both kept, and I makes 6 for the first: 22. Then 10 are left of it, and the second is at its I: 10 + 14.
  EXPECT_EQ(heldAtMost(schedule, costs)[0].bytes, 24);
  costs.made = {0};
  EXPECT_EQ(heldAtMost(schedule, costs)[0].bytes, 16);
  // Also where forward keeps nothing.
  costs.hold = costs.freed = {0};
  costs.made = {6};
  EXPECT_EQ(heldAtMost(schedule, costs)[0].bytes, 12);
}
