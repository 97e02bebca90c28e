//===- SavedValuesTest.cpp - saved values against all there are --------------===//

#include "tessera/Analysis/Saved/SavedValues.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace tessera;

/// What `saved` means: everything else that is needed runs again. None: some of it cannot.
static std::optional<SavedChoice> follow(const SavedProblem &problem, std::vector<bool> saved) {
  SavedChoice choice;
  choice.again.resize(problem.ops.size());
  std::vector<int> left = problem.needed;
  std::vector<bool> seen(problem.values.size());
  while (!left.empty()) {
    int value = left.back();
    left.pop_back();
    auto [bytes, maker] = problem.values[size_t(value)];
    if (seen[size_t(value)] || saved[size_t(value)] || bytes == 0)
      continue;
    seen[size_t(value)] = true;
    if (maker < 0)
      return std::nullopt;
    if (!choice.again[size_t(maker)])
      choice.time += problem.ops[size_t(maker)].time;
    choice.again[size_t(maker)] = true;
    left.insert(left.end(), problem.ops[size_t(maker)].reads.begin(), problem.ops[size_t(maker)].reads.end());
  }
  for (size_t i = 0; i < saved.size(); ++i)
    choice.bytes += saved[i] ? problem.values[i].bytes : 0;
  choice.saved = std::move(saved);
  return choice;
}

/// Every set of values that can be saved.
static std::vector<SavedChoice> allChoices(const SavedProblem &problem) {
  std::vector<size_t> savable;
  for (size_t i = 0; i < problem.values.size(); ++i)
    if (problem.values[i].bytes != 0 && problem.values[i].bytes != SavedProblem::never)
      savable.push_back(i);
  std::vector<SavedChoice> all;
  for (uint64_t set = 0; set < uint64_t(1) << savable.size(); ++set) {
    std::vector<bool> saved(problem.values.size());
    for (size_t i = 0; i < savable.size(); ++i)
      saved[savable[i]] = set >> i & 1;
    if (std::optional<SavedChoice> choice = follow(problem, saved))
      all.push_back(*choice);
  }
  return all;
}

/// Of a layer: a weight or two that are there, a carried value, ops of one to three operands that give one or
/// two values, some of them free.
static SavedProblem randomLayer(std::mt19937 &random, size_t savable) {
  auto draw = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  SavedProblem problem;
  auto add = [&](int64_t bytes, int maker) {
    problem.values.push_back({bytes, maker});
    return int(problem.values.size()) - 1;
  };
  for (int i = draw(1, 2); i > 0; --i)
    add(0, -1);
  add(draw(1, 20), -1);
  for (size_t known = 1; known < savable;) {
    SavedProblem::Op op;
    op.time = draw(0, 3) == 0 ? 0 : draw(1, 30);
    for (int i = draw(1, 3); i > 0; --i)
      op.reads.push_back(draw(std::max(0, int(problem.values.size()) - 6), int(problem.values.size()) - 1));
    problem.ops.push_back(op);
    for (int i = draw(0, 4) == 0 ? 2 : 1; i > 0; --i) {
      bool never = draw(0, 9) == 0;
      if (!never && known++ >= savable)
        break;
      add(never ? SavedProblem::never : draw(1, 20), int(problem.ops.size()) - 1);
    }
  }
  for (size_t i = 0; i < problem.values.size(); ++i)
    if (draw(0, 1))
      problem.needed.push_back(int(i));
  return problem;
}

TEST(SavedFrontier, EqualToAllChoicesOfRandomLayers) {
  std::mt19937 random(11);
  size_t between = 0;
  for (int round = 0; round < 200; ++round) {
    SavedProblem problem = randomLayer(random, 4 + size_t(round) % 7);
    std::vector<SavedChoice> all = allChoices(problem);
    int64_t fewest = SavedProblem::never, most = 0;
    for (const SavedChoice &choice : all) {
      fewest = std::min(fewest, choice.bytes);
      most = std::max(most, choice.bytes);
    }
    SavedFrontier frontier(problem);
    EXPECT_TRUE(frontier.isExact());
    EXPECT_FALSE(frontier.within(fewest - 1)) << "round " << round;
    for (int64_t limit = fewest; limit <= most; ++limit) {
      std::optional<SavedChoice> best;
      for (const SavedChoice &choice : all)
        if (choice.bytes <= limit &&
            (!best || std::pair(choice.time, choice.bytes) < std::pair(best->time, best->bytes)))
          best = choice;
      std::optional<size_t> point = frontier.within(limit);
      ASSERT_TRUE(point) << "round " << round << ", limit " << limit;
      SavedChoice found = frontier.choice(*point);
      EXPECT_EQ(std::pair(found.time, found.bytes), std::pair(best->time, best->bytes))
          << "round " << round << ", limit " << limit;
      // It is what it says.
      std::optional<SavedChoice> meant = follow(problem, found.saved);
      ASSERT_TRUE(meant);
      EXPECT_EQ(meant->bytes, found.bytes);
      EXPECT_EQ(meant->time, found.time);
      EXPECT_EQ(meant->again, found.again);
    }
    between += frontier.points().size();
  }
  EXPECT_GT(between, 800u);
}

TEST(SavedFrontier, WhatFitsIsNeverMoreThanTheLimit) {
  // A product of a carried value, and what is elementwise of it: the smaller of the two is saved.
  SavedProblem problem;
  problem.values = {{8, -1}, {100, 0}, {40, 1}};
  problem.ops = {{50, {0}}, {0, {1}}};
  problem.needed = {2};
  SavedFrontier frontier(problem);
  ASSERT_EQ(frontier.points().size(), 2u);
  EXPECT_EQ(frontier.choice(*frontier.within(40)).saved, (std::vector<bool>{false, false, true}));
  EXPECT_EQ(frontier.choice(*frontier.within(39)).saved, (std::vector<bool>{true, false, false}));
  EXPECT_EQ(frontier.points()[0].time, 50);
  EXPECT_FALSE(frontier.within(7));
}

TEST(SavedFrontier, OpsThatReadWhatIsNeededAnywayDecideForThemselves) {
  // Twenty weights are gathered, each for itself: two to the twenty choices, few points worth anything.
  SavedProblem problem;
  for (int i = 0; i < 20; ++i) {
    problem.values.push_back({0, -1});
    problem.values.push_back({64 * (1 + i % 3), i});
    problem.ops.push_back({100 * (1 + i % 3) + i, {2 * i}});
    problem.needed.push_back(2 * i + 1);
  }
  SavedFrontier frontier(problem);
  EXPECT_TRUE(frontier.isExact());
  EXPECT_EQ(frontier.points().front().bytes, 0);
  EXPECT_EQ(frontier.points().back().time, 0);
  EXPECT_LT(frontier.points().size(), 1000u);
}

TEST(SavedFrontier, IsThinnedWhereItIsTooLong) {
  SavedProblem problem;
  for (int i = 0; i < 12; ++i) {
    problem.values.push_back({int64_t(1) << i, i});
    problem.ops.push_back({int64_t(1) << i, {}});
    problem.needed.push_back(i);
  }
  EXPECT_EQ(SavedFrontier(problem).points().size(), 4096u);
  SavedFrontier thin(problem, 100);
  EXPECT_FALSE(thin.isExact());
  EXPECT_LE(thin.points().size(), 101u);
  EXPECT_EQ(thin.points().front().bytes, 0);
  EXPECT_EQ(thin.points().back().time, 0);
  for (size_t i = 0; i < thin.points().size(); ++i)
    EXPECT_EQ(thin.points()[i].bytes + thin.points()[i].time, 4095);
}

TEST(SavedFrontier, LargeLayersAreDecided) {
  std::mt19937 random(5);
  for (int round = 0; round < 5; ++round) {
    SavedProblem problem = randomLayer(random, 30);
    SavedFrontier frontier(problem);
    EXPECT_TRUE(frontier.isExact());
    EXPECT_GT(frontier.points().size(), 5u);
    for (size_t i = 0; i < frontier.points().size(); i += 7) {
      std::optional<SavedChoice> meant = follow(problem, frontier.choice(i).saved);
      ASSERT_TRUE(meant);
      EXPECT_EQ(meant->bytes, frontier.points()[i].bytes);
      EXPECT_EQ(meant->time, frontier.points()[i].time);
    }
  }
}
