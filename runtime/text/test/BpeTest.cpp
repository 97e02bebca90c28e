#include "Bpe.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace tessera::text;

namespace {
// One character each.
class Letters {
public:
  TokenTable table;
  explicit Letters(std::string_view letters) {
    for (char letter : letters)
      table.add(std::string_view(&letter, 1), letter);
  }
};
} // namespace

// The definition, quadratic: find the rule listed first among all adjacent pairs, apply it to the leftmost,
// start again.
static std::vector<int32_t> byDefinition(const std::string &piece,
                                         const std::vector<std::array<int32_t, 3>> &merges) {
  std::vector<int32_t> ids(piece.begin(), piece.end());
  for (;;) {
    size_t bestRank = merges.size(), bestAt = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i)
      for (size_t rank = 0; rank < bestRank; ++rank)
        if (merges[rank][0] == ids[i] && merges[rank][1] == ids[i + 1])
          bestRank = rank, bestAt = i;
    if (bestRank == merges.size())
      return ids;
    ids[bestAt] = merges[bestRank][2];
    ids.erase(ids.begin() + long(bestAt) + 1);
  }
}

// Words take another way than long pieces, so there are both.
TEST(Bpe, MatchesItsDefinitionOnRandomRules) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    Letters letters("abc");
    Bpe bpe(letters.table);
    std::vector<std::array<int32_t, 3>> merges;
    std::vector<int32_t> symbols = {'a', 'b', 'c'};
    for (int32_t next = 256; next < 266; ++next) {
      int32_t left = symbols[random() % symbols.size()], right = symbols[random() % symbols.size()];
      bool known =
          std::any_of(merges.begin(), merges.end(), [&](auto &m) { return m[0] == left && m[1] == right; });
      if (known)
        continue;
      bpe.addMerge(left, right, int32_t(merges.size()), next);
      merges.push_back({left, right, next});
      symbols.push_back(next);
    }
    std::string piece(random() % 80, 'a');
    for (char &c : piece)
      c = char('a' + random() % 3);
    std::vector<int32_t> ids;
    std::string_view missing;
    ASSERT_TRUE(bpe.encode(piece, ids, &missing));
    EXPECT_EQ(ids, byDefinition(piece, merges)) << piece;
  }
}

TEST(Bpe, ALongPieceIsNotQuadratic) {
  TokenTable table;
  table.add("a", 0);
  Bpe bpe(table);
  for (int32_t i = 0; i < 10; ++i) // a a, aa aa, ...
    bpe.addMerge(i, i, i, i + 1);
  std::vector<int32_t> ids;
  std::string_view missing;
  int64_t candidates = 0;
  ASSERT_TRUE(bpe.encode(std::string(1 << 18, 'a'), ids, &missing, &candidates));
  EXPECT_EQ(ids, std::vector<int32_t>(256, 10));
  EXPECT_LT(candidates, 4 << 18); // three a byte: its own, and one from each side of a merge
}

TEST(Bpe, BytesWithoutAToken) {
  Letters letters("a");
  Bpe bpe(letters.table);
  std::vector<int32_t> ids;
  std::string_view missing;
  EXPECT_FALSE(bpe.encode("axa", ids, &missing));
  EXPECT_EQ(missing, "x");
  bpe.setUnknown(9, /*fuse=*/false);
  ids.clear();
  ASSERT_TRUE(bpe.encode("axxa", ids, &missing));
  EXPECT_EQ(ids, (std::vector<int32_t>{'a', 9, 9, 'a'}));
  bpe.setUnknown(9, /*fuse=*/true);
  ids.clear();
  ASSERT_TRUE(bpe.encode("axxa", ids, &missing));
  EXPECT_EQ(ids, (std::vector<int32_t>{'a', 9, 'a'}));
}
