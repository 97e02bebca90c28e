#include "tessera/runtime/schedule/Choose.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

using namespace tessera;
using namespace tessera::schedule;

static PipelineModel equalModel(int64_t layers) {
  PipelineModel model;
  for (LayerCosts *costs :
       {&model.forward, &model.backwardInput, &model.backwardWeight, &model.weights, &model.saved})
    costs->layers.assign(size_t(layers), 1.0);
  model.freed.layers.assign(size_t(layers), 0.5);
  return model;
}

TEST(Choose, SplitBackwardsFillTheBubble) {
  ChoiceLimits limits;
  limits.ranks = 4;
  limits.microBatches = {8};
  limits.stagesPerRank = 1;
  Choice choice = choosePipeline([](int32_t, bool) { return equalModel(8); }, limits).take();
  // From m = 2p - 1 on no rank of zbv idles between its first and last action.
  EXPECT_EQ(choice.best.toString(), "zbv, 8 micro-batches");
  ASSERT_TRUE(choice.runnerUp);
  EXPECT_EQ(choice.runnerUp->toString(), "zb1p, 8 micro-batches");
  EXPECT_LT(choice.best.seconds, choice.runnerUp->seconds);
}

TEST(Choose, WhatDoesNotFitIsNotChosen) {
  ChoiceLimits limits;
  limits.ranks = 2;
  limits.microBatches = {4};
  limits.stagesPerRank = 1;
  auto model = [](int32_t, bool) { return equalModel(2); };
  Choice all = choosePipeline(model, limits).take();
  limits.name = Name::OneForwardOneBackward;
  Plan few = choosePipeline(model, limits).take().best;
  EXPECT_EQ(few.bytes, (std::vector<double>{3, 2}));
  limits.name = Name::GPipe;
  Plan many = choosePipeline(model, limits).take().best;
  EXPECT_EQ(many.bytes, (std::vector<double>{5, 5}));
  limits.name = std::nullopt;
  limits.bytes = few.mostBytes();
  Choice tight = choosePipeline(model, limits).take();
  EXPECT_LE(tight.best.mostBytes(), limits.bytes);
  EXPECT_GE(tight.best.seconds, all.best.seconds);
  limits.bytes = 1;
  Result<Choice> none = choosePipeline(model, limits);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.failure().why, "no schedule fits into 1 bytes a rank");
  EXPECT_EQ(none.failure().hint, "the least that would is 3, with zb1p, 4 micro-batches");
}

// A rank of 1f1b has one message that it has received, and one that it sends.
TEST(Choose, MessagesTakeTheMemoryOfTheirRank) {
  PipelineModel model = equalModel(2);
  Schedule lists = generate(Name::OneForwardOneBackward, 2, 4, 0).take();
  EXPECT_EQ(bytesOfRanks(model, {1, 1}, lists), (std::vector<double>{3, 2}));
  model.messageBytes = 10;
  model.rankBytes = 100;
  EXPECT_EQ(bytesOfRanks(model, {1, 1}, lists), (std::vector<double>{123, 122}));
}

// Behind the list, of the rank whose stages take longest together.
TEST(Choose, WhatStagesDoOnceCounts) {
  PipelineModel model = equalModel(4);
  Schedule lists = generate(Name::Interleaved, 2, 4, 2).take(); // stages 0 and 2, 1 and 3
  const double without = stepSeconds(model, {1, 1, 1, 1}, lists);
  model.once.layers = {4, 1, 3, 4};
  EXPECT_DOUBLE_EQ(stepSeconds(model, {1, 1, 1, 1}, lists), without + 7);
}

TEST(Choose, PinnedStagesStay) {
  ChoiceLimits limits;
  limits.ranks = 2;
  limits.microBatches = {4};
  limits.sizes = StageSizes{5, 1, 1, 1};
  Choice choice = choosePipeline([](int32_t, bool) { return equalModel(8); }, limits).take();
  EXPECT_EQ(choice.best.sizes, (StageSizes{5, 1, 1, 1}));
  EXPECT_EQ(choice.best.stagesPerRank, 2);
}

TEST(Choose, ASizeThatNoScheduleHasIsRefused) {
  ChoiceLimits limits;
  limits.ranks = 4;
  limits.microBatches = {7};
  limits.name = Name::DualPipeV;
  Result<Choice> none = choosePipeline([](int32_t, bool) { return equalModel(8); }, limits);
  ASSERT_FALSE(none);
  EXPECT_NE(none.failure().why.find("at least 8 micro-batches"), std::string::npos);
}

// Beside all schedules, numbers of stages a rank and cuts there are: 30 random models on 4 ranks.
TEST(Choose, BruteForce) {
  std::mt19937 random(5);
  auto draw = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  // Some of them in every run, all with TESSERA_FULL=1.
  const char *full = getenv("TESSERA_FULL");
  for (int round = 0; round < (full && std::string(full) == "1" ? 30 : 8); ++round) {
    int64_t layers = 5;
    PipelineModel model;
    double spread = round % 3; // all layers equal, nearly, not at all
    for (LayerCosts *costs :
         {&model.forward, &model.backwardInput, &model.backwardWeight, &model.weights, &model.saved}) {
      double usual = draw(1, 4);
      for (int64_t i = 0; i < layers; ++i)
        costs->layers.push_back(usual * (1 + draw(0, spread / 2)));
      costs->before = draw(0, 2);
      costs->after = draw(0, 6);
    }
    model.freed = model.saved;
    for (double &freed : model.freed.layers)
      freed /= 2;
    model.freed.before = model.freed.after = 0;
    model.link = draw(0, 1);
    model.messageBytes = draw(0, 0.5);
    ChoiceLimits limits;
    limits.ranks = 4;
    limits.microBatches = {8};
    limits.mostStagesPerRank = 2;
    auto ofAll = [&](const std::function<void(const Schedule &, const StageSizes &)> &visit) {
      for (int name = 0; name < kNamedSchedules; ++name)
        for (int32_t v = 1; v <= 2; ++v) {
          if (!takesStagesPerRank(Name(name)) && v != (isVShaped(Name(name)) ? 2 : 1))
            continue;
          Schedule schedule = generate(Name(name), 4, 8, takesStagesPerRank(Name(name)) ? v : 0).take();
          StageSizes sizes;
          std::function<void(int64_t)> fill = [&](int64_t left) {
            if (int32_t(sizes.size()) + 1 == schedule.numStages()) {
              sizes.push_back(left);
              visit(schedule, sizes);
              sizes.pop_back();
              return;
            }
            for (int64_t size = 0; size <= std::min<int64_t>(left, v == 1 ? 5 : 2); ++size) {
              sizes.push_back(size);
              fill(left - size);
              sizes.pop_back();
            }
          };
          fill(layers);
        }
    };
    // A limit that some of them keep.
    if (round % 2) {
      std::vector<double> all;
      ofAll([&](const Schedule &schedule, const StageSizes &sizes) {
        if (all.size() < 4000) {
          std::vector<double> bytes = bytesOfRanks(model, sizes, schedule);
          all.push_back(*std::max_element(bytes.begin(), bytes.end()));
        }
      });
      std::nth_element(all.begin(), all.begin() + int64_t(all.size() / 20), all.end());
      limits.bytes = all[all.size() / 20];
    }
    Result<Choice> choice = choosePipeline([&](int32_t, bool) { return model; }, limits);
    ASSERT_TRUE(choice) << choice.failure().message();
    if (limits.bytes > 0) {
      EXPECT_LE(choice->best.mostBytes(), limits.bytes);
    }
    double best = choice->best.seconds;
    ofAll([&](const Schedule &schedule, const StageSizes &sizes) {
      double time = simulate(schedule, costsOf(model, sizes)).makespan;
      if (time >= best)
        return;
      if (limits.bytes > 0) {
        std::vector<double> bytes = bytesOfRanks(model, sizes, schedule);
        if (*std::max_element(bytes.begin(), bytes.end()) > limits.bytes)
          return;
      }
      best = time;
    });
    EXPECT_LE(choice->best.seconds, best * 1.03) << "round " << round << ", " << choice->best.toString();
  }
}
