// Learning rates: the given runs' own, values worked out by hand from transformers' and torch's definitions,
// and flags that make no rate.
#include "tessera/runtime/train/LearningRate.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <vector>

using namespace tessera;
using namespace tessera::train;

namespace {

LearningRate rate(Schedule schedule, double peak, double least, int64_t steps, int64_t warmup) {
  LearningRate rate;
  rate.schedule = schedule;
  rate.peak = peak;
  rate.least = least;
  rate.steps = steps;
  rate.warmup = warmup;
  return rate;
}

void expectRates(const LearningRate &rate, const std::vector<double> &expected) {
  ASSERT_TRUE(rate.check()) << rate.check().failure().message();
  for (size_t update = 0; update < expected.size(); ++update)
    EXPECT_NEAR(rate.at(int64_t(update)), expected[update], 1e-15) << "update " << update;
}

// The rates that torch logged for the given models, to the last bit or the one before.
TEST(LearningRate, TheGivenRunsAreReproduced) {
  for (const char *model : {"tiny-llama", "tiny-gpt2", "tiny-mixtral"}) {
    std::ifstream file(std::string(TESSERA_MODELS "/") + model + "/expected.json");
    nlohmann::json train = nlohmann::json::parse(file)["train"], hyper = train["hyper"];
    LearningRate given =
        rate(Schedule::Cosine, hyper["lr"], hyper["min_lr"], hyper["steps"], hyper["warmup_steps"]);
    ASSERT_EQ(train["log"].size(), 20u);
    for (const nlohmann::json &line : train["log"])
      EXPECT_DOUBLE_EQ(given.at(line["step"].get<int64_t>() - 1), line["lr"].get<double>()) << model << line;
  }
}

// transformers: 0.5 (1 + cos(pi progress)) of the way from the least to the peak.
TEST(LearningRate, CosineIsHalfAWave) {
  const double root = std::sqrt(0.5);
  expectRates(rate(Schedule::Cosine, 2, 0, 4, 0), {2, 1 + root, 1, 1 - root, 0, 0});
  expectRates(rate(Schedule::Cosine, 1, 0.5, 6, 2),
              {0.5, 1, 1, 0.75 + 0.25 * root, 0.75, 0.75 - 0.25 * root, 0.5});
}

// transformers: (steps - step) / (steps - warmup).
TEST(LearningRate, LinearIsALine) {
  expectRates(rate(Schedule::Linear, 1, 0, 5, 0), {1, 0.8, 0.6, 0.4, 0.2, 0, 0});
  expectRates(rate(Schedule::Linear, 1, 0.2, 6, 2), {0.5, 1, 1, 0.8, 0.6, 0.4, 0.2});
}

TEST(LearningRate, ConstantStays) {
  expectRates(rate(Schedule::Constant, 3, 0, 5, 3), {1, 2, 3, 3, 3, 3, 3});
}

TEST(LearningRate, WsdDecaysOverItsLastSteps) {
  LearningRate wsd = rate(Schedule::Wsd, 1, 0.2, 10, 2);
  wsd.decaySteps = 4;
  const double root = std::sqrt(0.5);
  expectRates(wsd, {0.5, 1, 1, 1, 1, 1, 1, 0.6 + 0.4 * root, 0.6, 0.6 - 0.4 * root, 0.2});
  wsd.decaySteps = 0; // never decays within the run
  expectRates(wsd, {0.5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0.2});
  wsd.decaySteps.reset(); // a tenth, rounded up
  wsd.steps = 11;
  expectRates(wsd, {0.5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0.6, 0.2});
}

TEST(LearningRate, AWarmupAsLongAsTheRunOnlyRises) {
  for (Schedule schedule : {Schedule::Cosine, Schedule::Linear, Schedule::Constant}) {
    expectRates(rate(schedule, 1, 0, 4, 4), {0.25, 0.5, 0.75, 1});
    expectRates(rate(schedule, 1, 0, 2, 4), {0.25, 0.5});
  }
}

// What a run has done does not matter: it may stop at any step and go on.
TEST(LearningRate, IsAFunctionOfTheUpdateAlone) {
  LearningRate cosine = rate(Schedule::Cosine, 1e-3, 1e-5, 100, 10);
  for (int64_t update : {99, 3, 50, 3})
    EXPECT_EQ(cosine.at(update), rate(Schedule::Cosine, 1e-3, 1e-5, 100, 10).at(update));
}

TEST(LearningRate, NamesAreKnown) {
  EXPECT_EQ(scheduleFromName("cosine"), Schedule::Cosine);
  EXPECT_EQ(scheduleFromName("linear"), Schedule::Linear);
  EXPECT_EQ(scheduleFromName("constant"), Schedule::Constant);
  EXPECT_EQ(scheduleFromName("wsd"), Schedule::Wsd);
  EXPECT_EQ(scheduleFromName("cos"), std::nullopt);
}

TEST(LearningRate, FlagsThatMakeNoRateAreRefused) {
  auto why = [](LearningRate rate) { return rate.check() ? "" : rate.check().failure().message(); };
  const LearningRate good = rate(Schedule::Wsd, 1e-3, 1e-4, 10, 2);
  EXPECT_EQ(why(good), "");
  LearningRate bad = good;
  bad.peak = std::nan("");
  EXPECT_EQ(
      why(bad),
      "cannot use this learning rate (--lr=nan): it is no rate; use 0 or a positive number, for example "
      "3e-4");
  bad.peak = INFINITY;
  EXPECT_NE(why(bad).find("--lr=inf"), std::string::npos);
  bad.peak = -1;
  EXPECT_NE(why(bad).find("--lr=-1"), std::string::npos);
  bad = good, bad.least = 2;
  EXPECT_NE(why(bad).find("(--min-lr=2): it is above --lr=0.001"), std::string::npos);
  bad.least = std::nan("");
  EXPECT_NE(why(bad).find("--min-lr=nan"), std::string::npos);
  bad = good, bad.steps = 0;
  EXPECT_NE(why(bad).find("(--steps=0): there is no step"), std::string::npos);
  bad = good, bad.warmup = -1;
  EXPECT_NE(why(bad).find("--warmup=-1"), std::string::npos);
  bad = good, bad.schedule = Schedule::Constant, bad.decaySteps.reset(), bad.least = bad.peak / 2;
  EXPECT_NE(why(bad).find("a constant rate does not fall"), std::string::npos) << why(bad);
  bad = good, bad.decaySteps = 9;
  EXPECT_NE(why(bad).find("(--decay-steps=9): with --warmup=2 it is longer than --steps=10"),
            std::string::npos);
  bad.decaySteps = -1;
  EXPECT_NE(why(bad).find("--decay-steps=-1): it is negative"), std::string::npos);
  bad.decaySteps = 8;
  EXPECT_EQ(why(bad), "");
  bad.schedule = Schedule::Cosine;
  EXPECT_NE(why(bad).find("only wsd has a decay of its own"), std::string::npos);
}

} // namespace
