// Choosing a token: which distribution the draws follow, and which tokens can be drawn at all.
#include "Sampler.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <vector>

using namespace tessera::runtime;

namespace {

// How often each id comes in `count` draws of one prompt.
std::map<int32_t, int64_t> draws(const std::vector<float> &logits, double temperature, double topP,
                                 int64_t count, uint64_t seed = 5) {
  std::map<int32_t, int64_t> counts;
  for (int64_t step = 0; step < count; ++step)
    ++counts[sampleToken(logits.data(), int64_t(logits.size()), temperature, topP, seed, 0, step)];
  return counts;
}

// The share of each id must lie within five standard deviations of its probability.
void expectShares(const std::map<int32_t, int64_t> &counts, const std::vector<double> &weights,
                  int64_t count) {
  double total = 0;
  for (double weight : weights)
    total += weight;
  for (size_t id = 0; id < weights.size(); ++id) {
    double p = weights[id] / total;
    auto found = counts.find(int32_t(id));
    double share = found == counts.end() ? 0 : double(found->second) / double(count);
    EXPECT_NEAR(share, p, 5 * std::sqrt(p * (1 - p) / double(count)) + 1e-12) << "id " << id;
  }
}

const std::vector<float> kLogits = {0.5f, -1.0f, 2.0f, 1.0f, -0.25f};

std::vector<double> softmaxWeights(double temperature) {
  std::vector<double> weights;
  for (float logit : kLogits)
    weights.push_back(std::exp(double(logit) / temperature));
  return weights;
}

} // namespace

// Above and below 1: multiplying by the temperature sharpens where dividing flattens.
TEST(Sampler, TemperatureDividesTheLogits) {
  for (double temperature : {0.5, 1.0, 3.0})
    expectShares(draws(kLogits, temperature, 1, 20000), softmaxWeights(temperature), 20000);
}

// What is kept shares all of the probability: the last token kept must not get what the dropped ones had.
TEST(Sampler, TopPIsNormalizedOverWhatItKeeps) {
  // Probabilities at temperature 1: ids 2, 3, 0 hold 0.59 + 0.22 + 0.13; top-p 0.75 keeps the first two.
  std::vector<double> weights = softmaxWeights(1);
  for (size_t id : {0, 1, 4})
    weights[id] = 0;
  expectShares(draws(kLogits, 1, 0.75, 20000), weights, 20000);
}

// The set is the smallest that reaches top-p: a token that makes the sum exactly reach it is the last.
TEST(Sampler, TopPKeepsTheSmallestSetThatReachesIt) {
  std::vector<float> halves = {std::log(0.25f), std::log(0.5f), std::log(0.25f)};
  EXPECT_EQ(draws(halves, 1, 0.4, 2000).size(), 1u);
  EXPECT_EQ(draws(halves, 1, 0.4, 2000).count(1), 1u);
  EXPECT_EQ(draws(halves, 1, 0.6, 2000).size(), 2u);
  EXPECT_EQ(draws(halves, 1, 0.9, 2000).size(), 3u);
}

TEST(Sampler, EqualTokensAreCutAtTheLowerId) {
  std::vector<float> equal(8, 1.0f);
  std::map<int32_t, int64_t> counts = draws(equal, 1, 0.3, 5000); // three of eight reach 0.3
  EXPECT_EQ(counts.size(), 3u);
  for (int32_t id : {0, 1, 2})
    EXPECT_EQ(counts.count(id), 1u) << id;
}

TEST(Sampler, TheNumberDependsOnSeedPromptAndStep) {
  std::vector<float> flat(1 << 16, 0.0f);
  auto one = [&](uint64_t seed, int64_t prompt, int64_t step) {
    return sampleToken(flat.data(), int64_t(flat.size()), 1, 1, seed, prompt, step);
  };
  int32_t base = one(1, 2, 3);
  EXPECT_EQ(base, one(1, 2, 3));
  EXPECT_NE(base, one(2, 2, 3));
  EXPECT_NE(base, one(1 + (uint64_t(1) << 32), 2, 3)); // all 64 bits count
  EXPECT_NE(base, one(1, 3, 3));
  EXPECT_NE(base, one(1, 2, 4));
  EXPECT_NE(one(1, 2, 3), one(1, 3, 2));
}

TEST(Sampler, LogitsThatAreNotFiniteAreRefused) {
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> logits = kLogits;
    logits[3] = bad;
    EXPECT_EQ(sampleToken(logits.data(), 5, 1, 1, 0, 0, 0), -1);
  }
  std::vector<float> none(5, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(sampleToken(none.data(), 5, 1, 1, 0, 0, 0), -1);
}

// Minus infinity masks a token: it is never drawn, and the others as if it were not there.
TEST(Sampler, MaskedTokensAreNeverDrawn) {
  float masked = -std::numeric_limits<float>::infinity();
  for (double topP : {1.0, 0.9999})
    expectShares(draws({masked, 1, masked, 2}, 1, topP, 20000), {0, 1, 0, std::exp(1.0)}, 20000);
}

// exp(1000) overflows: the largest logit is taken off first.
TEST(Sampler, LargeLogitsDoNotOverflow) {
  std::vector<float> large = {1000, 1001, 999};
  std::map<int32_t, int64_t> counts = draws(large, 1, 1, 20000);
  expectShares(counts, {std::exp(-1.0), 1, std::exp(-2.0)}, 20000);
}
