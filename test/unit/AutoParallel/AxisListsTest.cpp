// Lists of axes: where they are cut, and in how many ways they can be assigned.
#include "AxisLists.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace tessera;

// What fits is the major part of a list, as long as it can be; with the rest it is the list again.
TEST(AxisLists, AreCutToFitBehindTheirMajorPart) {
  int cut = 0;
  for (int64_t x : {2, 4, 6, 9})
    for (int64_t y : {2, 3, 4, 6})
      for (int64_t size = 1; size <= 60; ++size) {
        const AxisList axes = {AxisRef{0, 5, x}, AxisRef{1, 1, y}}; // a digit of the first, all of the second
        auto parts = cutToFit(axes, size);
        const bool fitsWhole = x * y <= size, none = std::gcd(size, x) == 1;
        EXPECT_EQ(parts.has_value(), !fitsWhole && !none) << x << " " << y << " " << size;
        if (!parts)
          continue;
        ++cut;
        auto &[major, minor] = *parts;
        EXPECT_EQ(size % axesSize(major), 0) << x << " " << y << " " << size;
        ASSERT_FALSE(minor.empty());
        EXPECT_EQ(std::gcd(size / axesSize(major), minor.front().size), 1) << x << " " << y << " " << size;
        AxisList whole = major;
        whole.append(minor.begin(), minor.end());
        mergeAdjacent(whole);
        EXPECT_EQ(whole, axes) << size;
      }
  EXPECT_GT(cut, 100);
}

// Pieces end wherever an axis does, and cover what the axes cover.
TEST(AxisLists, AreCutAlike) {
  // Of an axis of 48: its digits [1, 4), [2, 8) and [24, 48); nothing lies over [8, 24).
  const AxisList axes = {AxisRef{1, 2, 4}, AxisRef{1, 1, 4}, AxisRef{1, 24, 2}, AxisRef{0, 1, 5}};
  EXPECT_EQ(cutAlike(axes), (AxisList{AxisRef{0, 1, 5}, AxisRef{1, 1, 2}, AxisRef{1, 2, 2}, AxisRef{1, 4, 2},
                                      AxisRef{1, 24, 2}}));
  // What one axis cuts at 4 and another at 6 has no digit between them.
  EXPECT_EQ(cutAlike({AxisRef{0, 1, 4}, AxisRef{0, 1, 6}}), (AxisList{AxisRef{0, 1, 4}}));
}

// Some of the axes, in some order, which is cut into so many lists, empty ones among them.
TEST(AxisLists, AssignmentsAreCounted) {
  auto choose = [](size_t n, size_t k) {
    double ways = 1;
    for (size_t i = 0; i < k; ++i)
      ways = ways * double(n - i) / double(i + 1);
    return ways;
  };
  for (size_t axes = 0; axes <= 5; ++axes)
    for (size_t lists = 1; lists <= 4; ++lists) {
      double ways = 0, orders = 1;
      for (size_t used = 0; used <= axes; ++used) {
        ways += choose(axes, used) * orders * choose(used + lists - 1, used);
        orders *= double(used + 1);
      }
      EXPECT_DOUBLE_EQ(countAssignments(axes, lists), ways) << axes << " " << lists;
    }
}
