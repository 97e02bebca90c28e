// Shuffles: permutations of every size, all of them about equally often, the same wherever they are asked
// for.
#include "tessera/runtime/data/RowPermutation.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <vector>

using namespace tessera::data;

namespace {

std::vector<int64_t> all(int64_t size, uint64_t seed, int64_t epoch) {
  RowPermutation permutation(size, seed, epoch);
  std::vector<int64_t> rows;
  for (int64_t place = 0; place < size; ++place)
    rows.push_back(permutation.at(place));
  return rows;
}

TEST(RowPermutation, EveryRowComesOnce) {
  for (int64_t size : {1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 1000, 4097})
    for (uint64_t seed : {0u, 1u, 77u}) {
      std::vector<bool> seen(size_t(size), false);
      for (int64_t row : all(size, seed, 3)) {
        ASSERT_GE(row, 0);
        ASSERT_LT(row, size);
        EXPECT_FALSE(seen[size_t(row)]) << "size " << size << ", row " << row;
        seen[size_t(row)] = true;
      }
    }
}

TEST(RowPermutation, SeedAndEpochDecide) {
  EXPECT_EQ(all(100, 5, 0), all(100, 5, 0));
  EXPECT_NE(all(100, 5, 0), all(100, 5, 1));
  EXPECT_NE(all(100, 5, 0), all(100, 6, 0));
}

// The numbers are part of what a checkpoint promises: a run that goes on sees the rows it would have seen.
// Those here are of another implementation, in Python.
TEST(RowPermutation, TheNumbersAreFixed) {
  EXPECT_EQ(all(10, 7, 0), (std::vector<int64_t>{5, 6, 7, 2, 4, 8, 3, 9, 0, 1}));
  EXPECT_EQ(RowPermutation(int64_t(1) << 40, 7, 2).at(123456789), 718265810565);
}

// 24 permutations of four, over many seeds: each within five standard deviations of its share.
TEST(RowPermutation, AllPermutationsComeEquallyOften) {
  for (int64_t size : {3, 4}) {
    std::map<std::vector<int64_t>, int64_t> counts;
    const int64_t draws = 24000, kinds = size == 3 ? 6 : 24;
    for (int64_t seed = 0; seed < draws; ++seed)
      ++counts[all(size, uint64_t(seed), 0)];
    EXPECT_EQ(int64_t(counts.size()), kinds);
    double share = 1.0 / double(kinds), spread = std::sqrt(double(draws) * share * (1 - share));
    for (const auto &[rows, count] : counts)
      EXPECT_NEAR(double(count), double(draws) * share, 5 * spread);
  }
}

// Neighbours do not stay neighbours: of n places about one keeps its successor.
TEST(RowPermutation, NeighboursPart) {
  std::vector<int64_t> rows = all(5000, 11, 4);
  int64_t together = 0, inPlace = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    together += i > 0 && std::abs(rows[i] - rows[i - 1]) == 1;
    inPlace += rows[i] == int64_t(i);
  }
  EXPECT_LT(together, 12);
  EXPECT_LT(inPlace, 8);
}

} // namespace
