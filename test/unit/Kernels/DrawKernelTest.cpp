// Drawing a token: every target's kernel against the sampling that it stands for, written as a loop over a
// sorted list in float64, and what that must hold by itself.
#include "KernelHarness.h"

#include "tessera/runtime/core/CountedRandom.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>

using namespace tessera;
using namespace tessera::test;

namespace {

struct Settings {
  double temperature = 1, topP = 1;
  int32_t topK = 0;
  uint64_t seed = 5;
  double minP = 0;
};

/// The counted number of docs/Runtime.md.
double numberOf(uint64_t seed, uint64_t stream, uint64_t count) {
  return double(runtime::randomBits(seed, stream, count) >> 11) * 0x1p-53;
}

int32_t expectedToken(const float *logits, int64_t vocab, const Settings &how, int64_t stream,
                      int64_t count) {
  float top = *std::max_element(logits, logits + vocab);
  std::vector<double> weight(vocab);
  for (int64_t i = 0; i < vocab; ++i)
    weight[i] = std::exp((double(logits[i]) - top) / how.temperature);
  std::vector<int32_t> ids(vocab);
  std::iota(ids.begin(), ids.end(), 0);
  auto mass = [&] {
    double sum = 0;
    for (int32_t id : ids)
      sum += weight[id];
    return sum;
  };
  if (how.topK > 0 || how.topP < 1 || how.minP > 0)
    std::sort(ids.begin(), ids.end(),
              [&](int32_t a, int32_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  if (how.topK > 0 && how.topK < vocab)
    ids.resize(how.topK);
  if (how.topP < 1) {
    double total = mass(), sum = 0;
    size_t kept = 0;
    while (kept < ids.size() && (kept == 0 || sum < how.topP * total))
      sum += weight[ids[kept++]];
    ids.resize(kept);
  }
  while (ids.size() > 1 && weight[ids.back()] < how.minP)
    ids.pop_back();
  double target = numberOf(how.seed, stream, count) * mass(), sum = 0;
  for (int32_t id : ids)
    if ((sum += weight[id]) > target)
      return id;
  return ids.back();
}

/// One kernel for `rows` rows.
class DrawKernel {
public:
  DrawKernel(int64_t rows, int64_t vocab) : rows(rows), vocab(vocab) {
    kernels = CompiledKernels::fromBuilder([&](mlir::ModuleOp module) {
      mlir::Builder b(module.getContext());
      module.push_back(buildTargetDrawKernel(b.getUnknownLoc(), "draw", {rows, vocab, b.getF32Type()}));
    });
    EXPECT_EQ(kernels.error, "");
    EXPECT_EQ(kernels.calls, std::vector<std::string>()) << "a library call in a kernel";
  }

  /// `logits` of all rows, or of one that all have. Row r draws number first + r of its stream.
  std::vector<int32_t> operator()(const std::vector<float> &logits, const Settings &how, int32_t stream = 0,
                                  int32_t first = 0) {
    Buffer<float> all(rows * vocab);
    for (int64_t i = 0; i < rows * vocab; ++i)
      all[i] = logits[i % logits.size()];
    Buffer<int32_t> streams(rows, stream), counts(rows), topK(1, how.topK), ids(rows, -7);
    Buffer<double> temperature(1, how.temperature), topP(1, how.topP), minP(1, how.minP);
    Buffer<uint64_t> seed(1, how.seed);
    Buffer<int64_t> scratch(rows * 2 * vocab, 0x7fffffffffffffff);
    std::iota(counts.data, counts.data + rows, first);
    kernels.run("draw",
                {all.data, streams.data, counts.data, seed.data, temperature.data, topK.data, topP.data,
                 minP.data, ids.data, scratch.data},
                {}, 0, rows);
    EXPECT_TRUE(ids.guardIntact() && scratch.guardIntact());
    return {ids.data, ids.data + rows};
  }

  std::map<int32_t, int64_t> shares(const std::vector<float> &logits, const Settings &how) {
    std::map<int32_t, int64_t> found;
    for (int32_t id : (*this)(logits, how))
      ++found[id];
    return found;
  }

  int64_t rows, vocab;
  CompiledKernels kernels;
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class DrawnTokens : public ::testing::TestWithParam<int64_t> {};

TEST_P(DrawnTokens, AreThoseOfTheSortedList) {
  // Most of the time goes into long rows: a few of them, but with ./scripts/test --full.
  const char *full = getenv("TESSERA_FULL");
  int64_t vocab = GetParam(), rows = vocab < 100 || (full && *full == '1') ? 40 : 8;
  DrawKernel kernel(rows, vocab);
  auto random = randomFloats(size_t(rows * vocab), unsigned(vocab), -6, 6);
  std::vector<float> logits(random.data, random.data + random.size);
  for (size_t i = 0; i < logits.size(); i += 7) // equal ones, too
    logits[i] = std::round(logits[i]);
  for (Settings how :
       {Settings{1, 1, 0, 5}, Settings{0.3, 1, 0, 12345678901234567890u}, Settings{2.5, 0.9, 0, 7},
        Settings{1, 0.35, 0, 8}, Settings{1, 0.999, 0, 9}, Settings{1.5, 1, 3, 10}, Settings{1.5, 1, 1, 11},
        Settings{4, 0.6, 20, 12}, Settings{1, 0.5, 1 << 30, 13}, Settings{1.5, 1, 0, 14, 0.05},
        Settings{3, 0.9, 0, 15, 0.3}, Settings{3, 0.5, 0, 16, 0.01}, Settings{2, 1, 6, 17, 0.2},
        Settings{4, 0.7, 20, 18, 0.5}, Settings{4, 0.4, 20, 19, 0.1}, Settings{1, 1, 0, 20, 1}}) {
    std::vector<int32_t> found = kernel(logits, how, /*stream=*/3, /*first=*/100);
    for (int64_t row = 0; row < rows; ++row)
      EXPECT_EQ(found[row], expectedToken(logits.data() + row * vocab, vocab, how, 3, 100 + row))
          << "row " << row << " T " << how.temperature << " K " << how.topK << " P " << how.topP
          << " at least " << how.minP;
  }
}

INSTANTIATE_TEST_SUITE_P(Draw, DrawnTokens, ::testing::Values(1, 2, 5, 32, 33, 389, 1031));

TEST(Draw, ZerosOfBothSignsAreEqual) {
  DrawKernel kernel(1, 3);
  EXPECT_EQ(kernel({-1.0f, -0.0f, 0.0f}, {1, 1, 1, 5}), std::vector<int32_t>{1}); // the first of them
  EXPECT_EQ(kernel({-1.0f, 0.0f, -0.0f}, {1, 1, 1, 5}), std::vector<int32_t>{1});
}

const std::vector<float> kLogits = {0.5f, -1.0f, 2.0f, 1.0f, -0.25f};

/// The share of each id must lie within five standard deviations of its probability.
void expectShares(const std::map<int32_t, int64_t> &counts, std::vector<double> weights, int64_t count) {
  double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (size_t id = 0; id < weights.size(); ++id) {
    double p = weights[id] / total;
    auto found = counts.find(int32_t(id));
    double share = found == counts.end() ? 0 : double(found->second) / double(count);
    EXPECT_NEAR(share, p, 5 * std::sqrt(p * (1 - p) / double(count)) + 1e-12) << "id " << id;
  }
}

// Above and below 1: multiplying by the temperature sharpens where dividing flattens.
TEST(Draw, TemperatureDividesTheLogits) {
  DrawKernel kernel(4000, 5);
  for (double temperature : {0.5, 1.0, 3.0}) {
    std::vector<double> weights;
    for (float logit : kLogits)
      weights.push_back(std::exp(double(logit) / temperature));
    expectShares(kernel.shares(kLogits, {temperature}), weights, 4000);
  }
}

// The set is the smallest that reaches top-p: a token that makes the sum exactly reach it is the last.
TEST(Draw, TopPKeepsTheSmallestSetThatReachesIt) {
  DrawKernel three(1000, 3), eight(1000, 8);
  std::vector<float> halves = {std::log(0.25f), std::log(0.5f), std::log(0.25f)}, equal(8, 1.0f);
  EXPECT_EQ(three.shares(halves, {1, 0.4}).size(), 1u);
  EXPECT_EQ(three.shares(halves, {1, 0.4}).count(1), 1u);
  EXPECT_EQ(three.shares(halves, {1, 0.6}).size(), 2u);
  EXPECT_EQ(three.shares(halves, {1, 0.9}).size(), 3u);
  // Of equal ones the lower ids; four of eight reach a half exactly.
  for (auto [topP, kept] : {std::pair{0.3, 3}, {0.5, 4}, {0.501, 5}}) {
    std::map<int32_t, int64_t> counts = eight.shares(equal, {1, topP});
    EXPECT_EQ(counts.size(), size_t(kept)) << topP;
    EXPECT_EQ(counts.rbegin()->first, kept - 1) << topP;
  }
}

// Times the largest probability, which temperature has changed: a token that has just as much stays.
TEST(Draw, MinPKeepsWhatIsLikelyBesideTheLargest) {
  DrawKernel four(1000, 4);
  std::vector<float> logits = {std::log(0.25f), 0.0f, std::log(0.0625f), std::log(0.5f)};
  auto left = [&](Settings how) {
    std::vector<int32_t> ids;
    for (auto [id, count] : four.shares(logits, how))
      ids.push_back(id);
    return ids;
  };
  EXPECT_EQ(left({1, 1, 0, 5, 0}), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(left({1, 1, 0, 5, 0.2}), (std::vector<int32_t>{0, 1, 3}));
  EXPECT_EQ(left({1, 1, 0, 5, 0.3}), (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(left({1, 1, 0, 5, 1}), (std::vector<int32_t>{1}));
  EXPECT_EQ(left({2, 1, 0, 5, 0.3}), (std::vector<int32_t>{0, 1, 3})); // 1/4 is 1/2 there
  EXPECT_EQ(left({1, 1, 1, 5, 0.2}), (std::vector<int32_t>{1}));       // the other cuts hold as well
  EXPECT_EQ(left({1, 0.6, 0, 5, 0.2}), (std::vector<int32_t>{1, 3}));
  // Three of equal ones, of which min-p leaves all.
  EXPECT_EQ(DrawKernel(300, 3).shares({2, 2, 2}, {1, 1, 0, 5, 1}).size(), 3u);
  // What is left has its share.
  double quarter = 0.25, half = 0.5;
  expectShares(four.shares(logits, {1, 1, 0, 5, 0.2}), {quarter, 1, 0, half}, 1000);
}

// What min-p drops counts in what top-p takes its share of: cut to the first three, 0.6 of 7/4 takes two.
TEST(Draw, MinPIsTheLastCut) {
  DrawKernel four(1000, 4);
  std::vector<float> logits = {std::log(0.25f), 0.0f, std::log(0.0625f), std::log(0.5f)};
  EXPECT_EQ(four.shares(logits, {1, 0.6, 3, 5, 0.3}).size(), 2u);
}

TEST(Draw, TheNumberDependsOnSeedStreamAndCount) {
  DrawKernel kernel(1, 1 << 14);
  std::vector<float> flat(1 << 14, 0.0f);
  auto one = [&](uint64_t seed, int32_t stream, int32_t count) {
    return kernel(flat, {1, 1, 0, seed}, stream, count).front();
  };
  int32_t base = one(1, 2, 3);
  EXPECT_EQ(base, one(1, 2, 3));
  EXPECT_NE(base, one(2, 2, 3));
  EXPECT_NE(base, one(1 + (uint64_t(1) << 32), 2, 3)); // all 64 bits count
  EXPECT_NE(base, one(1, 3, 3));
  EXPECT_NE(base, one(1, 2, 4));
  EXPECT_NE(one(1, 2, 3), one(1, 3, 2));
}

TEST(Draw, LogitsThatAreNotFiniteGiveNoToken) {
  DrawKernel kernel(2, 5);
  for (double topP : {1.0, 0.5})
    for (float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity}) {
      std::vector<float> logits = kLogits;
      logits[3] = bad;
      EXPECT_EQ(kernel(logits, {1, topP}), (std::vector<int32_t>{-1, -1}));
    }
  EXPECT_EQ(kernel(std::vector<float>(5, -kInfinity), {}), (std::vector<int32_t>{-1, -1}));
}

// Minus infinity masks a token: it is never drawn, and the others as if it were not there.
TEST(Draw, MaskedTokensAreNeverDrawn) {
  DrawKernel kernel(4000, 4);
  for (double topP : {1.0, 0.9999})
    expectShares(kernel.shares({-kInfinity, 1, -kInfinity, 2}, {1, topP}), {0, 1, 0, std::exp(1.0)}, 4000);
  EXPECT_EQ(kernel.shares({-kInfinity, 1, -kInfinity, 2}, {1, 1, 4}).size(), 2u);
}

// exp(1000) overflows: the largest logit is taken off first.
TEST(Draw, LargeLogitsDoNotOverflow) {
  DrawKernel kernel(4000, 3);
  expectShares(kernel.shares({1000, 1001, 999}, {}), {std::exp(-1.0), 1, std::exp(-2.0)}, 4000);
}

} // namespace
