// Who sends what to whom, without sending: what one rank lists as going out, the others list as coming in.
#include "tessera/runtime/comm/Transfers.h"

#include <gtest/gtest.h>
#include <map>

namespace tessera::runtime {

static void expectBothEndsAgree(const Mesh &mesh, const Shape &global, const Sharding &from,
                                const Sharding &to, const Box *part = nullptr) {
  std::map<std::pair<int64_t, int64_t>, Shape> goes, comes;
  for (int64_t rank = 0; rank < mesh.size(); ++rank) {
    Transfers transfers =
        part ? groupedSend(mesh, global, from, to, rank, *part) : groupedSend(mesh, global, from, to, rank);
    for (const BoxTransfer &t : transfers.goes)
      EXPECT_TRUE(goes.emplace(std::pair(rank, t.peer), t.box.size).second)
          << "two boxes from " << rank << " to " << t.peer;
    for (const BoxTransfer &t : transfers.comes)
      EXPECT_TRUE(comes.emplace(std::pair(t.peer, rank), t.box.size).second)
          << "two boxes from " << t.peer << " to " << rank;
  }
  EXPECT_EQ(goes, comes);
}

TEST(Transfers, WhatGoesOutComesIn) {
  Mesh mesh({{"a", 4}, {"b", 3}, {"c", 2}});
  AxisList a = {{"a", 1, 4}}, b = {{"b", 1, 3}}, c = {{"c", 1, 2}}, high = {{"a", 1, 2}}, low = {{"a", 2, 2}},
           turned = {{"a", 2, 2}, {"a", 1, 2}}, ab = {{"a", 1, 4}, {"b", 1, 3}},
           ba = {{"b", 1, 3}, {"a", 1, 4}}, lowB = {{"a", 2, 2}, {"b", 1, 3}};
  std::vector<AxisList> lists = {{}, a, b, c, high, low, turned, ab, ba, lowB};
  for (const AxisList &x : lists)
    for (const AxisList &y : lists)
      for (int64_t n : {0, 1, 5, 7, 24}) {
        expectBothEndsAgree(mesh, {n}, {x}, {y});
        expectBothEndsAgree(mesh, {n, 5}, {x, {}}, {{}, y});
        if (n == 24) {
          Box part{{5}, {13}};
          expectBothEndsAgree(mesh, {n}, {x}, {y}, &part);
        }
      }
}

// The middle half of 16 over two ranks lies there already, in the second half of the first one's piece.
TEST(Transfers, APartThatIsWhereItBelongs) {
  Mesh mesh({{"a", 2}});
  Sharding halves = {{{"a", 1, 2}}};
  for (int64_t rank : {0, 1}) {
    Transfers transfers = groupedSend(mesh, {16}, halves, halves, rank, {{4}, {8}});
    EXPECT_TRUE(transfers.goes.empty() && transfers.comes.empty());
    ASSERT_TRUE(transfers.kept);
    EXPECT_EQ(transfers.kept->begin, (Shape{rank == 0 ? 4 : 0}));
    EXPECT_EQ(transfers.kept->size, (Shape{4}));
    EXPECT_EQ(transfers.dst, (Shape{4}));
  }
}

// One rank's lists on the largest mesh there is: nothing in them grows with the number of ranks.
TEST(Transfers, AMillionRanks) {
  Mesh mesh({{"a", 1024}, {"b", 1024}});
  AxisList a = {{"a", 1, 1024}}, b = {{"b", 1, 1024}};
  Transfers transfers = groupedSend(mesh, {3000, 7}, {a, {}}, {b, {}}, 5 * 1024 + 9);
  EXPECT_LE(transfers.comes.size(), 2u);
  Transfers moved = permute(mesh, 10, {a}, {b}, 5 * 1024 + 9);
  ASSERT_EQ(moved.comes.size(), 1u);
  EXPECT_EQ(mesh.index(moved.comes[0].peer, a), 9);
  EXPECT_EQ(mirror(mesh, 10, {{"a", 1, 1024}, {"b", 1, 1024}}, 0).comes[0].peer, (1 << 20) - 1);
}

// 12 as 4 x 3 and as 6 x 2 or 3 x 4: there are no common digits.
TEST(Transfers, CutsThatDoNotGoTogether) {
  Mesh mesh({{"a", 12}, {"b", 2}});
  AxisList four = {{"a", 1, 4}}, six = {{"a", 1, 6}}, three = {{"a", 1, 3}}, lowFour = {{"a", 3, 4}},
           mixed = {{"a", 1, 4}, {"b", 1, 2}};
  for (const AxisList &x : {four, six, three, lowFour, mixed})
    for (const AxisList &y : {four, six, three, lowFour, mixed})
      for (int64_t n : {1, 7, 24}) {
        expectBothEndsAgree(mesh, {n}, {x}, {y});
        expectBothEndsAgree(mesh, {n, 5}, {x, {}}, {{}, y});
      }
  for (int64_t rank = 0; rank < mesh.size(); ++rank) {
    Transfers transfers = permute(mesh, 3, {four}, {lowFour}, rank);
    ASSERT_EQ(transfers.comes.size(), transfers.goes.size());
    if (transfers.comes.empty())
      continue;
    EXPECT_EQ(mesh.index(transfers.comes[0].peer, four), mesh.index(rank, lowFour));
    EXPECT_EQ(permute(mesh, 3, {four}, {lowFour}, transfers.comes[0].peer).goes[0].peer, rank);
  }
}

} // namespace tessera::runtime
