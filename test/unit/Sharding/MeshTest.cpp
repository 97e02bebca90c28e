#include "tessera/Analysis/Sharding/Notation.h"

#include <gtest/gtest.h>

using namespace tessera;

TEST(Mesh, DevicesAreRowMajor) {
  Mesh m = mesh("a2 b3 c4");
  EXPECT_EQ(m.numDevices(), 24);
  EXPECT_EQ(m.coordinates(23), (llvm::SmallVector<int64_t, 4>{1, 2, 3}));
  EXPECT_EQ(m.coordinates(7), (llvm::SmallVector<int64_t, 4>{0, 1, 3}));
  EXPECT_EQ(m.find("c"), 2);
  EXPECT_EQ(m.find("d"), std::nullopt);
}

TEST(Mesh, SubAxisDigitsAreMajorToMinor) {
  Mesh m = mesh("a16");
  AxisRef major{0, 1, 2}, middle{0, 2, 4}, minor{0, 8, 2};
  EXPECT_EQ(major.digit(13, m), 1);
  EXPECT_EQ(middle.digit(13, m), 2);
  EXPECT_EQ(minor.digit(13, m), 1);
  EXPECT_TRUE(major.isFollowedBy(middle));
  EXPECT_FALSE(major.isFollowedBy(minor));
  EXPECT_TRUE(middle.overlaps(AxisRef({0, 4, 4})));
  EXPECT_FALSE(major.overlaps(minor));
  // 2 does not divide 3: i/3 and i%2 are no two digits of one number.
  EXPECT_TRUE(AxisRef({0, 1, 2}).overlaps(AxisRef({0, 3, 2})));
}

TEST(Mesh, GroupsFollowTheOrderOfAxes) {
  Mesh m = mesh("a2 b2");
  auto parse = [&](const char *text) {
    std::string error;
    return *parseAxes(text, m, error);
  };
  EXPECT_EQ(groupOf(m, parse("a"), 1), (llvm::SmallVector<int64_t>{1, 3}));
  EXPECT_EQ(groupOf(m, parse("b,a"), 0), (llvm::SmallVector<int64_t>{0, 2, 1, 3}));
  for (int64_t device = 0; device < 4; ++device)
    EXPECT_EQ(groupOf(m, parse("b,a"), device)[groupIndex(m, parse("b,a"), device)], device);
}

TEST(Mesh, MergeAdjacentJoinsPiecesOfOneAxis) {
  llvm::SmallVector<AxisRef> axes = {{0, 1, 2}, {0, 2, 2}, {1, 1, 2}, {0, 4, 2}};
  mergeAdjacent(axes);
  EXPECT_EQ(axes, (llvm::SmallVector<AxisRef>{{0, 1, 4}, {1, 1, 2}, {0, 4, 2}}));
}

TEST(Mesh, WrongTextIsAnError) {
  for (const char *text : {"a0", "2", "a2 a3", "a-1", "a1024 b2048", "a", "a=x"}) {
    std::string error;
    EXPECT_FALSE(parseMesh(text, error)) << text;
    EXPECT_NE(error, "") << text;
  }
}
