// What llm-compile chooses by, beside all there is.
#include "tessera/runtime/schedule/Lower.h"
#include "tessera/runtime/schedule/Search.h"
#include "tessera/runtime/schedule/Validate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <set>

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

// Bytes of a plan as costs say them, and `more` that they do not know of.
static Measure measureBy(const PipelineModel &model, int32_t ranks, double more = 0) {
  return [=](size_t, const Plan &plan) -> Result<double> {
    std::vector<double> bytes = bytesOfRanks(model, plan.sizes, generate(plan, ranks).take());
    return *std::max_element(bytes.begin(), bytes.end()) + more;
  };
}

static Result<Choice> choose(const PipelineModel &model, const ChoiceLimits &limits, double more = 0) {
  return choosePlan({[&](int32_t, bool) { return model; }}, limits, measureBy(model, limits.ranks, more));
}

TEST(Choose, SplitBackwardsFillTheBubble) {
  ChoiceLimits limits;
  limits.ranks = 4;
  limits.microBatches = {8};
  limits.stagesPerRank = 1;
  Choice choice = choose(equalModel(8), limits).take();
  // From m = 2p - 1 on no rank of zbv idles between its first and last action.
  EXPECT_EQ(choice.best.plan.toString(), "zbv, 8 micro-batches, cut 1,1,1,1,1,1,1,1");
  ASSERT_TRUE(choice.runnerUp);
  EXPECT_EQ(choice.runnerUp->plan.toString(), "zb1p:1, 8 micro-batches, cut 2,2,2,2");
  EXPECT_LT(choice.best.plan.seconds, choice.runnerUp->plan.seconds);
}

TEST(Choose, WhatDoesNotFitIsNotChosen) {
  ChoiceLimits limits;
  limits.ranks = 2;
  limits.microBatches = {4};
  limits.stagesPerRank = 1;
  const PipelineModel model = equalModel(2);
  Choice all = choose(model, limits).take();
  limits.name = Name::OneForwardOneBackward;
  Plan few = choose(model, limits).take().best.plan;
  EXPECT_EQ(few.bytes, (std::vector<double>{3, 2}));
  limits.name = Name::GPipe;
  Plan many = choose(model, limits).take().best.plan;
  EXPECT_EQ(many.bytes, (std::vector<double>{5, 5}));
  limits.name = std::nullopt;
  limits.bytes = few.mostBytes();
  Choice tight = choose(model, limits).take();
  EXPECT_TRUE(tight.fits);
  EXPECT_LE(tight.best.bytes, limits.bytes);
  EXPECT_GE(tight.best.plan.seconds, all.best.plan.seconds);
  limits.bytes = 1;
  Choice none = choose(model, limits).take();
  EXPECT_FALSE(none.fits);
  EXPECT_EQ(none.best.bytes, 3);
  EXPECT_FALSE(none.runnerUp);
}

TEST(Choose, WhatCostsDoNotKnowIsMeasured) {
  PipelineModel model = equalModel(4);
  for (LayerCosts *costs : {&model.weights, &model.saved, &model.freed})
    *costs = plus(*costs, *costs, 999);
  ChoiceLimits limits;
  limits.ranks = 2;
  limits.microBatches = {4};
  limits.stagesPerRank = 1;
  limits.bytes = 8000;
  const Choice exact = choose(model, limits).take();
  limits.bytes += 5000;
  const Choice more = choose(model, limits, 5000).take();
  EXPECT_TRUE(exact.fits && more.fits);
  EXPECT_EQ(more.best.plan.toString(), exact.best.plan.toString());
  EXPECT_EQ(more.best.bytes, exact.best.bytes + 5000);
  // The least that is named fits, and nothing less does.
  limits.bytes = 1;
  const Choice least = choose(model, limits, 5000).take();
  EXPECT_FALSE(least.fits);
  limits.bytes = least.best.bytes;
  EXPECT_TRUE(choose(model, limits, 5000).take().fits);
  limits.bytes -= 1;
  EXPECT_FALSE(choose(model, limits, 5000).take().fits);
}

// What was found out about cuts under one limit serves the others, whatever ranks hold besides.
TEST(Choose, WhatIsKnownOfCutsChangesNoPlan) {
  std::mt19937 random(7);
  auto draw = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  auto text = [](const std::vector<Plan> &plans) {
    std::string result;
    for (const Plan &plan : plans)
      result += plan.toString() + " " + std::to_string(plan.seconds) + " " +
                std::to_string(plan.mostBytes()) + "\n";
    return result;
  };
  for (int round = 0; round < 3; ++round) {
    PipelineModel model;
    for (LayerCosts *costs :
         {&model.forward, &model.backwardInput, &model.backwardWeight, &model.weights, &model.saved}) {
      for (int64_t i = 0; i < 6; ++i)
        costs->layers.push_back(draw(1, 4));
      costs->after = draw(0, 6);
    }
    model.freed = model.saved;
    model.messageBytes = draw(0, 2);
    model.link = draw(0, 1);
    ChoiceLimits limits;
    limits.ranks = 3;
    limits.microBatches = {3, 6};
    limits.mostStagesPerRank = 2;
    const ModelOf modelOf = [&](int32_t microBatches, bool) {
      PipelineModel of = model;
      of.rankBytes += microBatches; // the models of two numbers of micro-batches differ
      return of;
    };
    KnownCuts known;
    std::set<std::string> found;
    for (double more : {0., 17., 5.})
      for (double bytes : {0., 200., 1., 60., 35.}) {
        model.rankBytes = more;
        limits.bytes = bytes;
        const std::string alone = text(pipelinePlans(modelOf, limits).take());
        EXPECT_EQ(text(pipelinePlans(modelOf, limits, &known).take()), alone) << round << ", " << bytes;
        found.insert(alone);
      }
    EXPECT_GT(found.size(), 5u); // the limits do matter
    // It is what plans are made from.
    limits.bytes = 0;
    const double before = pipelinePlans(modelOf, limits, &known).take().front().seconds;
    for (auto &[schedule, cuts] : known)
      for (auto &[sizes, cost] : cuts.costs)
        if (cost.seconds)
          *cost.seconds *= 2;
    EXPECT_GT(pipelinePlans(modelOf, limits, &known).take().front().seconds, 1.5 * before);
  }
}

TEST(Choose, AFailedMeasureIsSaid) {
  ChoiceLimits limits;
  limits.ranks = 2;
  limits.microBatches = {4};
  limits.bytes = 100;
  Result<Choice> none =
      choosePlan({[](int32_t, bool) { return equalModel(2); }}, limits,
                 [](size_t, const Plan &) -> Result<double> { return Failure{"it broke", "", "", ""}; });
  ASSERT_FALSE(none);
  EXPECT_EQ(none.failure().what, "it broke");
}

TEST(Choose, TheFastestVariantThatFitsIsTaken) {
  ChoiceLimits limits;
  limits.ranks = 2;
  limits.microBatches = {4};
  limits.name = Name::OneForwardOneBackward;
  // The second keeps a tenth, and takes longer.
  PipelineModel fast = equalModel(4), small = equalModel(4);
  small.saved = plus(small.saved, small.saved, -0.9);
  small.backwardInput = plus(small.backwardInput, small.backwardInput, 1);
  auto chosen = [&](double bytes) {
    limits.bytes = bytes;
    return choosePlan({[&](int32_t, bool) { return fast; }, [&](int32_t, bool) { return small; }}, limits,
                      [&](size_t variant, const Plan &plan) {
                        return measureBy(variant ? small : fast, 2)(variant, plan);
                      })
        .take();
  };
  EXPECT_EQ(chosen(0).best.variant, 0u);
  EXPECT_EQ(chosen(6).best.variant, 0u);
  ASSERT_TRUE(chosen(6).runnerUp);
  EXPECT_EQ(chosen(6).runnerUp->variant, 1u);
  EXPECT_EQ(chosen(4).best.variant, 1u);
}

// What takes least is looked for among so many plans: each is a compilation. Costs know of every plan what it
// takes, but for the slowest, which seems to take nothing; the faster ones take ever less.
TEST(Choose, TheSearchForWhatTakesLeastHasAnEnd) {
  constexpr int32_t plans = 110;
  auto bytesOf = [](int32_t microBatches) { return 10000.0 - 10 * microBatches; };
  ChoiceLimits limits;
  limits.ranks = 2;
  limits.name = Name::GPipe;
  limits.stagesPerRank = 1;
  limits.sizes = {{1, 1}};
  limits.bytes = 10; // nothing fits
  for (int32_t m = 1; m <= plans; ++m)
    limits.microBatches.push_back(m);
  auto modelOf = [&](int32_t microBatches, bool) {
    PipelineModel model = equalModel(2);
    for (LayerCosts *bytes : {&model.weights, &model.saved, &model.freed})
      bytes->layers.assign(2, 0.0);
    for (LayerCosts *seconds : {&model.forward, &model.backwardInput, &model.backwardWeight})
      seconds->layers.assign(2, std::pow(1.05, microBatches)); // no two are alike
    model.rankBytes = microBatches == plans ? 1 : bytesOf(microBatches);
    return model;
  };
  int measured = 0;
  Choice choice = choosePlan({modelOf}, limits, [&](size_t, const Plan &plan) -> Result<double> {
                    ++measured;
                    return plan.microBatches == plans ? 20000 : bytesOf(plan.microBatches);
                  }).take();
  EXPECT_FALSE(choice.fits);
  // The slowest, and 99 of the others one after another.
  EXPECT_EQ(measured, 100);
  EXPECT_EQ(choice.best.plan.microBatches, 99);
  EXPECT_EQ(choice.best.bytes, bytesOf(99));
}

TEST(Choose, AlikePlansGoByStagesThenByWhatTheyKeep) {
  Plan plan;
  plan.sizes = {2, 2};
  plan.seconds = 1.001;
  plan.bytes = {2};
  Plan longer = plan, keeps = plan, finer = plan;
  longer.seconds = 1.02;
  longer.bytes = {1};
  keeps.bytes = {3};
  keeps.seconds = 1.0005;
  finer.sizes = {1, 1, 1, 1};
  finer.bytes = {1};
  finer.seconds = 1.0005;
  for (const Plan &other : {longer, keeps, finer}) {
    EXPECT_TRUE(isBefore(plan, other)) << other.seconds;
    EXPECT_FALSE(isBefore(other, plan)) << other.seconds;
  }
  EXPECT_FALSE(isBefore(plan, plan));
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
  EXPECT_FALSE(pinnedPlan(limits));
  Choice choice = choose(equalModel(8), limits).take();
  EXPECT_EQ(choice.best.plan.sizes, (StageSizes{5, 1, 1, 1}));
  EXPECT_EQ(choice.best.plan.stagesPerRank, 2);
  // What is chosen among one is what is pinned.
  limits.name = Name::Interleaved;
  ASSERT_TRUE(pinnedPlan(limits));
  EXPECT_EQ(pinnedPlan(limits)->toString(), "interleaved:2, 4 micro-batches, cut 5,1,1,1");
  EXPECT_EQ(choose(equalModel(8), limits).take().best.plan.toString(), pinnedPlan(limits)->toString());
}

TEST(Choose, GivenListsGoByTheirName) {
  const Schedule lists = generate(Name::Interleaved, 2, 4, 2).take();
  ChoiceLimits limits;
  limits.ranks = 2;
  limits.microBatches = {4};
  limits.given = &lists;
  limits.givenName = "mine.txt";
  std::vector<Plan> plans = pipelinePlans([](int32_t, bool) { return equalModel(4); }, limits).take();
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans.front().toString(), "mine.txt, 4 micro-batches, cut 1,1,1,1");
  limits.sizes = StageSizes{1, 1, 1, 1};
  EXPECT_EQ(pinnedPlan(limits)->toString(), plans.front().toString());
}

TEST(Choose, ASizeThatNoScheduleHasIsRefused) {
  ChoiceLimits limits;
  limits.ranks = 4;
  limits.microBatches = {7};
  limits.name = Name::DualPipeV;
  Result<Choice> none = choose(equalModel(8), limits);
  ASSERT_FALSE(none);
  EXPECT_NE(none.failure().why.find("at least 8 micro-batches"), std::string::npos);
}

TEST(Choose, WhatHalvesMakeCountsWhereForwardKeepsNothing) {
  PipelineModel model = equalModel(4);
  for (LayerCosts *costs : {&model.weights, &model.saved, &model.freed})
    *costs = plus(*costs, *costs, -1);
  model.made = plus(model.saved, model.forward, 3);
  const Schedule halves = generate(Name::ZeroBubble, 2, 4).take();
  // Two layers a stage, and between I and W of as many micro-batches as the rank lets wait.
  EXPECT_EQ(costsOf(model, {2, 2}).made, (std::vector<double>{6, 6}));
  EXPECT_GE(bytesOfRanks(model, {2, 2}, halves).front(), 6);
}

// A table of both ends travels over the whole pipeline each step, but for schedules in form of a V, where
// both ends lie on one rank.
TEST(Choose, ATableOfBothEndsSpeaksForAV) {
  PipelineModel model = equalModel(8);
  // More stages take more: by that alone no V is chosen.
  for (LayerCosts *costs : {&model.forward, &model.backwardInput, &model.backwardWeight})
    costs->stage = 0.5;
  ChoiceLimits limits;
  limits.ranks = 4;
  limits.microBatches = {8};
  limits.stagesPerRank = 1;
  const Plan without = choose(model, limits).take().best.plan;
  EXPECT_FALSE(isVShaped(*without.name)) << without.toString();
  model.shared = 40;
  const Plan with = choose(model, limits).take().best.plan;
  EXPECT_TRUE(isVShaped(*with.name)) << with.toString();
  limits.name = without.name;
  EXPECT_NEAR(choose(model, limits).take().best.plan.seconds, without.seconds + 40, 1e-9);
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
    // A limit that some of them keep. What is measured is more than what costs say.
    const double more = round % 4 == 3 ? draw(0, 20) : 0;
    auto bytesOf = [&](const Schedule &schedule, const StageSizes &sizes) {
      std::vector<double> bytes = bytesOfRanks(model, sizes, schedule);
      return *std::max_element(bytes.begin(), bytes.end()) + more;
    };
    if (round % 2) {
      std::vector<double> all;
      ofAll([&](const Schedule &schedule, const StageSizes &sizes) {
        if (all.size() < 4000)
          all.push_back(bytesOf(schedule, sizes));
      });
      std::nth_element(all.begin(), all.begin() + int64_t(all.size() / 20), all.end());
      limits.bytes = all[all.size() / 20];
    }
    Result<Choice> choice = choose(model, limits, more);
    ASSERT_TRUE(choice) << choice.failure().message();
    ASSERT_TRUE(choice->fits);
    const Plan &plan = choice->best.plan;
    const Schedule lists = lower(generate(plan, 4).take(), Lowering::Eager);
    Transport transport;
    transport.sendBuffers = leastSendBuffers(lists, costsOf(model, plan.sizes)).withoutDelay;
    EXPECT_FALSE(validate(lists, transport)) << plan.toString();
    const double taken = simulate(lists, costsOf(model, plan.sizes), transport).makespan;
    EXPECT_NEAR(taken, plan.seconds, 1e-6 * taken);
    if (limits.bytes > 0) {
      EXPECT_LE(bytesOf(generate(plan, 4).take(), plan.sizes), limits.bytes);
    }
    double best = taken;
    ofAll([&](const Schedule &schedule, const StageSizes &sizes) {
      double time = simulate(schedule, costsOf(model, sizes)).makespan;
      if (time < best && (limits.bytes == 0 || bytesOf(schedule, sizes) <= limits.bytes))
        best = time;
    });
    EXPECT_LE(taken, best * 1.03) << "round " << round << ", " << plan.toString();
  }
}
