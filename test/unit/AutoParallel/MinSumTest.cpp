#include "tessera/AutoParallel/MinSum.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace tessera;

/// `first`: entries of table 0.
static MinSum randomProblem(unsigned seed, int variables, int tables, std::vector<int> &sizes,
                            size_t most = 3, size_t *first = nullptr) {
  std::mt19937 random(seed);
  MinSum problem;
  for (int i = 0; i < variables; ++i) {
    sizes.push_back(int(random() % 4) + 1);
    problem.addVariable(sizes.back());
  }
  for (int t = 0; t < tables; ++t) {
    std::vector<int> scope;
    size_t entries = 1;
    for (int i = 0; i < variables; ++i)
      if (random() % 3 == 0 && scope.size() < most) {
        scope.push_back(i);
        entries *= size_t(sizes[i]);
      }
    std::vector<double> costs;
    for (size_t e = 0; e < entries; ++e)
      costs.push_back(double(random() % 1000));
    problem.addTable(scope, costs);
    if (first && t == 0)
      *first = entries;
  }
  return problem;
}

TEST(MinSum, EqualsBruteForce) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::vector<int> sizes;
    MinSum problem = randomProblem(seed, 6, 8, sizes);
    std::vector<int> values(sizes.size(), 0);
    double best = 1e30;
    for (;;) {
      best = std::min(best, problem.costOf(values));
      size_t i = 0;
      while (i < values.size() && ++values[i] == sizes[i])
        values[i++] = 0;
      if (i == values.size())
        break;
    }
    auto solution = problem.solve();
    EXPECT_EQ(solution.cost, best) << seed;
    EXPECT_EQ(solution.lowerBound, best) << seed;
    // With hardly any memory it still bounds, and finds something.
    auto small = problem.solve(/*largestTable=*/4);
    EXPECT_LE(small.lowerBound, best + 1e-9) << seed;
    EXPECT_GE(small.cost, best) << seed;
    EXPECT_EQ(small.cost, problem.costOf(small.values)) << seed;
  }
}

// Tables of more entries than are worked out at once, and of variables in any order.
TEST(MinSum, LargeTablesEqualBruteForce) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    MinSum problem;
    std::vector<int> sizes, order = {0, 1, 2, 3};
    for (size_t i = 0; i < order.size(); ++i) {
      sizes.push_back(int(random() % 14) + 1);
      problem.addVariable(sizes.back());
    }
    for (size_t rank : {1, 2, 3, 4, 4}) {
      std::shuffle(order.begin(), order.end(), random);
      std::vector<int> scope(order.begin(), order.begin() + ptrdiff_t(rank));
      size_t entries = 1;
      for (int variable : scope)
        entries *= size_t(sizes[variable]);
      std::vector<double> costs;
      for (size_t e = 0; e < entries; ++e)
        costs.push_back(double(random() % 100000));
      problem.addTable(scope, std::move(costs));
    }
    std::vector<int> values(sizes.size(), 0);
    double best = 1e30;
    for (size_t i = 0; i < values.size();) {
      best = std::min(best, problem.costOf(values));
      for (i = 0; i < values.size() && ++values[i] == sizes[i]; ++i)
        values[i] = 0;
    }
    auto solution = problem.solve();
    EXPECT_EQ(solution.cost, best) << seed;
    EXPECT_EQ(solution.lowerBound, best) << seed;
  }
}

// After tables change the search says what one that has never seen others says.
TEST(MinSum, ChangedTablesAreSolvedAnew) {
  for (unsigned seed = 0; seed < 100; ++seed)
    for (int64_t largest : {int64_t(1) << 20, int64_t(8)}) {
      std::mt19937 random(seed);
      MinSum problem, fresh;
      for (MinSum *p : {&problem, &fresh})
        for (int i = 0; i < 5; ++i)
          p->addVariable(3);
      std::vector<std::vector<double>> costs;
      auto draw = [&] {
        std::vector<double> table;
        for (int i = 0; i < 9; ++i)
          table.push_back(double(random() % 50));
        return table;
      };
      for (int i = 0; i < 7; ++i) {
        costs.push_back(draw());
        problem.addTable({i % 5, (i + 1 + i / 5) % 5}, costs.back());
      }
      problem.solve(largest);
      for (int change = 0; change < 3; ++change) {
        int table = int(random() % 7);
        costs[table] = draw();
        problem.changeTable(table, costs[table]);
        problem.solve(largest);
      }
      for (int i = 0; i < 7; ++i)
        fresh.addTable({i % 5, (i + 1 + i / 5) % 5}, costs[i]);
      auto again = problem.solve(largest), first = fresh.solve(largest);
      EXPECT_EQ(again.values, first.values) << seed;
      EXPECT_EQ(again.cost, first.cost) << seed;
      EXPECT_EQ(again.lowerBound, first.lowerBound) << seed;
    }
}

// Taking out what is worse than some solution leaves the best one, and bounds from below; costs may grow
// afterwards.
TEST(MinSum, PruningKeepsTheBest) {
  int tight = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::vector<int> sizes;
    size_t entries = 0;
    MinSum problem = randomProblem(seed, 12, 20, sizes, seed % 4 ? 2 : 3, &entries), fresh = problem;
    double best = problem.solve().cost;
    double upper = seed % 2 ? best : 1.2 * best;
    double bound = problem.prune(upper);
    EXPECT_LE(bound, best * (1 + 1e-9)) << seed;
    tight += bound >= 0.98 * best;
    auto solution = problem.solve(), small = problem.solve(/*largestTable=*/4);
    EXPECT_EQ(solution.cost, best) << seed;
    EXPECT_EQ(fresh.costOf(solution.values), best) << seed;
    EXPECT_EQ(fresh.costOf(small.values), small.cost) << seed;
    EXPECT_LE(small.lowerBound, best + 1e-9) << seed;
    // Again, with one table that says more than before.
    std::vector<double> more(entries, 1000);
    for (MinSum *p : {&problem, &fresh})
      p->changeTable(0, more);
    double then = fresh.solve().cost;
    if (then <= upper) {
      EXPECT_EQ(problem.solve().cost, then) << seed;
      EXPECT_LE(problem.prune(then), then * (1 + 1e-9)) << seed;
      EXPECT_EQ(problem.solve().cost, then) << seed;
    }
  }
  EXPECT_GE(tight, 250); // tables of three variables only bound by their least entry
}

// Chains of long lists, two of them and rungs between: too large a table for the limit, but pruned they are
// exact.
TEST(MinSum, PruningMakesLargeProblemsExact) {
  std::mt19937 random(7);
  MinSum problem;
  constexpr int kLength = 12, kRows = 4, kValues = 20;
  for (int i = 0; i < kLength * kRows; ++i)
    problem.addVariable(kValues);
  auto draw = [&](int entries) {
    std::vector<double> costs;
    for (int i = 0; i < entries; ++i)
      costs.push_back(double(random() % 1000));
    return costs;
  };
  for (int i = 0; i < kLength * kRows; ++i) {
    auto costs = draw(kValues);
    for (double &cost : costs)
      cost *= 20;
    problem.addTable({i}, costs);
    if (i >= kRows)
      problem.addTable({i - kRows, i}, draw(kValues * kValues));
    if (i % kRows)
      problem.addTable({i - 1, i}, draw(kValues * kValues));
  }
  auto first = problem.solve(1 << 12);
  EXPECT_GT(first.cost, first.lowerBound * 1.001);
  double bound = problem.prune(first.cost);
  EXPECT_GT(bound, first.lowerBound);
  auto second = problem.solve(1 << 12);
  EXPECT_LE(second.cost, first.cost);
  EXPECT_NEAR(second.cost, second.lowerBound, 1e-6 * second.cost);
}

// Pairs of values about many things at once: left for long they double every table that they meet. Where the
// usual order has to split tables, another one that takes pairs first needs none as large.
TEST(MinSum, OtherOrdersMakeLargeProblemsExact) {
  std::mt19937 random(3);
  auto draw = [&](int entries) {
    std::vector<double> costs;
    for (int i = 0; i < entries; ++i)
      costs.push_back(double(random() % 1000));
    return costs;
  };
  MinSum problem;
  constexpr int kLong = 12, kPairs = 14;
  constexpr int64_t kSmall = 1 << 12, kLarge = 1 << 17;
  int readers[3];
  for (int &variable : readers)
    variable = problem.addVariable(kLong);
  int maker = problem.addVariable(2 * kLong);
  for (int i = 0; i < kPairs; ++i) {
    int pair = problem.addVariable(2);
    for (int reader : readers)
      problem.addTable({reader, pair}, draw(2 * kLong));
    problem.addTable({maker, pair}, draw(4 * kLong));
  }
  auto usual = problem.solve(kSmall), larger = problem.solve(kLarge);
  EXPECT_LT(usual.lowerBound, usual.cost);
  EXPECT_LT(larger.lowerBound, larger.cost); // it is not for the size alone
  auto exact = problem.solve(kSmall, kLarge);
  EXPECT_EQ(exact.cost, exact.lowerBound);
  EXPECT_LE(exact.cost, usual.cost);
  EXPECT_GE(exact.lowerBound, larger.lowerBound);
  // Nothing changes where that does not help.
  EXPECT_EQ(problem.solve(kSmall, kSmall).values, usual.values);
}
