// Random numbers of rows, as the interpreter draws them: they look random, and dropout keeps what it says.
#include "Parse.h"

#include "tessera/Reference/Interpreter.h"
#include "tessera/runtime/core/CountedRandom.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {

constexpr int64_t kRows = 1000, kColumns = 1000;

/// Dropout of ones [rows, columns]; keys are those of `stream`, and of rows by their numbers.
std::vector<double> dropped(double probability, int64_t stream = 3, int64_t seed = 1) {
  std::string rows = std::to_string(kRows), columns = std::to_string(kColumns);
  Program program("func.func @f(%x: tensor<" + rows + "x" + columns +
                  "xf32>, %seed: tensor<i64>, %stream: tensor<i64>, %p: tensor<f32>) -> tensor<" + rows +
                  "x" + columns + "xf32> {\n  %n = graph.iota dim = 0 : tensor<" + rows +
                  "x1xi64>\n  %k = graph.random_key %seed, %stream, %n : (tensor<i64>, tensor<i64>, tensor<" +
                  rows + "x1xi64>) -> tensor<" + rows + "x1xi64>\n  %c = graph.iota dim = 0 : tensor<" +
                  columns + "xi32>\n  %r = graph.dropout %x keys %k columns %c probability %p : (tensor<" +
                  rows + "x" + columns + "xf32>, tensor<" + rows + "x1xi64>, tensor<" + columns +
                  "xi32>, tensor<f32>) -> tensor<" + rows + "x" + columns + "xf32>\n  return %r : tensor<" +
                  rows + "x" + columns + "xf32>\n}");
  std::vector<ReferenceTensor> arguments;
  for (Type type : program.func().getArgumentTypes())
    arguments.emplace_back(cast<RankedTensorType>(type));
  std::fill(arguments[0].f.begin(), arguments[0].f.end(), 1);
  arguments[1].i[0] = seed;
  arguments[2].i[0] = stream;
  arguments[3].f[0] = probability;
  auto results = interpretGlobally(program.func(), arguments);
  EXPECT_TRUE(succeeded(results));
  return succeeded(results) ? results->front().f : std::vector<double>();
}

/// Of `n` draws with chance `p`, how many standard deviations `count` is off.
double deviations(double count, double n, double p) {
  return std::fabs(count - n * p) / std::sqrt(n * p * (1 - p));
}

} // namespace

TEST(Dropout, KeepsAShareAndScalesIt) {
  for (double p : {0.01, 0.1, 0.5, 0.9}) {
    std::vector<double> result = dropped(p);
    double zeros = 0, sum = 0, kept = 1 / (1 - double(float(p)));
    for (double x : result) {
      ASSERT_TRUE(x == 0 || x == kept) << x;
      zeros += x == 0;
      sum += x;
    }
    EXPECT_LT(deviations(zeros, 1e6, p), 4) << p;
    EXPECT_NEAR(sum / 1e6, 1, 4 * std::sqrt(p / (1 - p) / 1e6)) << p;
    // No row, and no column, is special: the largest of a thousand is 5 deviations off once in 1700 draws.
    for (int64_t i = 0; i < kRows; ++i) {
      double row = 0, column = 0;
      for (int64_t j = 0; j < kColumns; ++j) {
        row += result[size_t(i * kColumns + j)] == 0;
        column += result[size_t(j * kColumns + i)] == 0;
      }
      EXPECT_LT(deviations(row, kColumns, p), 6) << "row " << i;
      EXPECT_LT(deviations(column, kRows, p), 6) << "column " << i;
    }
  }
}

TEST(Dropout, OfNothingIsTheIdentity) {
  for (double x : dropped(0))
    ASSERT_EQ(x, 1);
}

// Neighbours in a row, in a column, and in the streams of two sites, and seeds, agree as strangers would.
TEST(Dropout, NeighboursAreIndependent) {
  const double p = 0.3, agree = p * p + (1 - p) * (1 - p);
  std::vector<double> one = dropped(p), other = dropped(p, 4), seed = dropped(p, 3, 2);
  double right = 0, below = 0, sites = 0, seeds = 0, pairs = double((kRows - 1) * (kColumns - 1));
  for (int64_t i = 0; i + 1 < kRows; ++i)
    for (int64_t j = 0; j + 1 < kColumns; ++j) {
      auto at = size_t(i * kColumns + j);
      bool zero = one[at] == 0;
      right += zero == (one[at + 1] == 0);
      below += zero == (one[at + size_t(kColumns)] == 0);
      sites += zero == (other[at] == 0);
      seeds += zero == (seed[at] == 0);
    }
  for (double count : {right, below, sites, seeds})
    EXPECT_LT(deviations(count, pairs, agree), 4);
}

TEST(Dropout, RefusesSharesThatLeaveNothing) {
  for (const char *p : {"1.0", "-0.1", "0x7FC00000", "0.99999999"}) {
    std::string text =
        std::string("func.func @f(%x: tensor<2xf32>, %k: tensor<1xi64>, %c: tensor<2xi32>) -> "
                    "tensor<2xf32> {\n  %p = graph.constant dense<") +
        p +
        "> : tensor<f32> : tensor<f32>\n  %r = graph.dropout %x keys %k columns %c probability "
        "%p : (tensor<2xf32>, tensor<1xi64>, tensor<2xi32>, tensor<f32>) -> tensor<2xf32>\n  "
        "return %r : tensor<2xf32>\n}";
    Program program(text);
    std::vector<ReferenceTensor> arguments;
    for (Type type : program.func().getArgumentTypes())
      arguments.emplace_back(cast<RankedTensorType>(type));
    EXPECT_TRUE(failed(interpretGlobally(program.func(), arguments))) << p;
  }
}

// A bit of the key's low word or of the column turns each bit of the word in half of the cases. Keys are
// random numbers themselves: their high words are mixed in for the distance between rows, by one product.
TEST(RandomWord, EveryBitTurnsEveryOther) {
  constexpr int kCases = 20000;
  for (int bit = 0; bit < 32 + 16; ++bit) {
    int turned[32] = {};
    for (int i = 0; i < kCases; ++i) {
      uint64_t key = runtime::randomBits(7, 0, uint64_t(i)), other = bit < 32 ? key ^ (1ull << bit) : key;
      uint32_t column = uint32_t(i) % 4096, next = bit < 32 ? column : column ^ (1u << (bit - 32));
      uint32_t difference = runtime::randomWord(key, column) ^ runtime::randomWord(other, next);
      for (int b = 0; b < 32; ++b)
        turned[b] += int(difference >> b & 1);
    }
    for (int b = 16; b < 32; ++b) // those that a threshold compares first
      EXPECT_NEAR(double(turned[b]) / kCases, 0.5, 0.03) << "bit " << bit << " of the input, " << b;
  }
}

TEST(RandomWord, ThresholdIsExact) {
  EXPECT_EQ(runtime::dropThreshold(0), 0u);
  EXPECT_EQ(runtime::dropThreshold(0.5f), 1u << 31);
  EXPECT_EQ(runtime::dropThreshold(std::nextafter(1.0f, 0.0f)), 0xffffff00u);
}
