#include "tessera/runtime/schedule/Predict.h"
#include "tessera/runtime/schedule/Generate.h"
#include "tessera/runtime/schedule/Lower.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::schedule;

// 2 ranks, 2 micro-batches, every action a second: 3 + 6 behind each other.
static const Schedule &lists() {
  static const Schedule made = generate(Name::OneForwardOneBackward, 2, 2).take();
  return made;
}

TEST(Predict, WhatStagesDoOnceAndWhatTheyShareCountsBehindTheList) {
  StepCosts costs;
  const StepPrediction list = predictStep(lists(), costs);
  EXPECT_EQ(list.seconds(), 9);
  EXPECT_NEAR(list.idle(), 1 - 12. / 18, 1e-12);
  // The norm is added up between the two: the longest of each count, on whichever rank they are.
  costs.once = {1, 3};
  costs.shared = {2, 0};
  const StepPrediction step = predictStep(lists(), costs);
  EXPECT_EQ(step.seconds(), 9 + 2 + 3);
  EXPECT_EQ(step.sharedSeconds(), 2);
  EXPECT_NEAR(step.idle(), 1 - (12. + 1 + 3) / (2 * 14), 1e-12);
}

TEST(Predict, StagesOfOneRankAddUp) {
  const Schedule twice = generate(Name::Interleaved, 2, 2, 2).take();
  StepCosts costs;
  costs.once = {1, 2, 4, 8}; // of ranks 0, 1, 0, 1
  EXPECT_EQ(predictStep(twice, costs).once, (std::vector<double>{5, 10}));
}

TEST(Predict, NumbersAreReadByTheirNames) {
  const StepCosts costs = stepCosts({{"forward", {1, 2}},
                                     {"input_gradient", {3, 4}},
                                     {"weight_gradient", {5, 6}},
                                     {"link", {7}},
                                     {"wire", {6}},
                                     {"once", {8, 9}},
                                     {"shared", {10, 11}}});
  EXPECT_EQ(costs.costs.forward, (std::vector<double>{1, 2}));
  EXPECT_EQ(costs.costs.backwardInput, (std::vector<double>{3, 4}));
  EXPECT_EQ(costs.costs.backwardWeight, (std::vector<double>{5, 6}));
  EXPECT_EQ(costs.costs.link, (std::vector<double>{7}));
  EXPECT_EQ(costs.costs.wire, (std::vector<double>{6}));
  EXPECT_EQ(costs.once, (std::vector<double>{8, 9}));
  EXPECT_EQ(costs.shared, (std::vector<double>{10, 11}));
  // What nobody says takes no time.
  EXPECT_EQ(predictStep(lists(), stepCosts({})).seconds(), 0);
}

TEST(Predict, MessagesTakeTurnsOnAWire) {
  // Eight messages of 5, of which the wire has each for 4: the last one is there 4 * 7 + 5 behind the first
  // send.
  const Schedule sends = lower(generate(Name::GPipe, 2, 8).take(), Lowering::Eager);
  Costs costs;
  costs.forward = {1, 0};
  costs.backwardInput = costs.backwardWeight = {0};
  costs.link = {5};
  EXPECT_EQ(simulate(sends, costs).makespan, 8 + 5 + 5);
  costs.wire = {4};
  const Simulation run = simulate(sends, costs);
  EXPECT_EQ(run.makespan, 1 + 4 * 7 + 5 + 4 * 7 + 5);
  std::vector<double> departures;
  for (size_t i = 0; i < sends.ranks[0].size(); ++i)
    if (schedule::sends(sends.ranks[0][i].kind))
      departures.push_back(run.departures[0][i]);
  EXPECT_EQ(departures, (std::vector<double>{1, 5, 9, 13, 17, 21, 25, 29}));
}

TEST(Predict, BuffersAreThoseOfThePlan) {
  StepCosts costs;
  costs.costs.link = {5};
  const Schedule sends = lower(generate(Name::GPipe, 2, 8).take(), Lowering::Eager);
  Transport one;
  one.sendBuffers = 1;
  EXPECT_GT(predictStep(sends, costs, one).seconds(), predictStep(sends, costs).seconds());
}

TEST(Predict, GroupsOfRowsFollowEachOther) {
  const GenerationPrediction one = predictGeneration({{2, 3}, {1, 4}, {}, {}}, 1);
  EXPECT_EQ(one.prompt, 5);
  EXPECT_EQ(one.token, 5);
  const GenerationPrediction three = predictGeneration({{2, 3}, {1, 4}, {}, {}}, 3);
  EXPECT_EQ(three.prompt, 5 + 2 * 3);
  EXPECT_EQ(three.token, 12);
}

// Messages are on the way of a chunk and of a token; groups that wait for their turn anyhow lose nothing.
TEST(Predict, MessagesOfGeneratingCount) {
  const GenerationCosts costs{{2, 3}, {1, 4}, {10}, {5, 1}};
  EXPECT_EQ(predictGeneration(costs, 1).prompt, 5 + 10);
  EXPECT_EQ(predictGeneration(costs, 1).token, 5 + 6);
  EXPECT_EQ(predictGeneration(costs, 3).prompt, 5 + 10 + 2 * 3);
  EXPECT_EQ(predictGeneration(costs, 3).token, 12);
}
