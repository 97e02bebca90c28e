// The models of SentencePiece on vocabularies that are small enough to see what must come out.
#include "ScoredBpe.h"
#include "Unigram.h"

#include <gtest/gtest.h>

using namespace tessera::text;

using Ids = std::vector<int32_t>;

static Ids encode(const PieceEncoder &model, std::string_view piece) {
  Ids ids;
  std::string_view missing;
  EXPECT_TRUE(model.encode(piece, ids, &missing)) << missing;
  return ids;
}

static TokenTable tableOf(const std::vector<std::string_view> &texts) {
  TokenTable table;
  for (size_t id = 0; id < texts.size(); ++id)
    table.add(texts[id], int32_t(id));
  return table;
}

TEST(ScoredBpe, OfEqualScoresTheLeftmostIsMade) {
  TokenTable table = tableOf({"a", "aa", "b", "ab"});
  ScoredBpe model(table, {0, -1, 0, -1}, std::vector<bool>(4));
  EXPECT_EQ(encode(model, "aaa"), (Ids{1, 0}));
  EXPECT_EQ(encode(model, "aab"), (Ids{1, 2})); // aa comes before ab
}

TEST(ScoredBpe, TheHighestScoreIsMadeFirst) {
  TokenTable table = tableOf({"a", "aa", "b", "ab"});
  ScoredBpe model(table, {0, -2, 0, -1}, std::vector<bool>(4));
  EXPECT_EQ(encode(model, "aab"), (Ids{0, 3}));
}

TEST(ScoredBpe, WhatIsNotForUseFallsApart) {
  TokenTable table = tableOf({"a", "b", "ab", "abab", "c"});
  ScoredBpe model(table, {0, 0, -1, -2, 0}, {false, false, true, false, false});
  EXPECT_EQ(encode(model, "abc"), (Ids{0, 1, 4}));
  EXPECT_EQ(encode(model, "abab"), (Ids{3})); // merges pass through it
}

TEST(ScoredBpe, CharactersWithoutATokenAreOneUnknownOrTheirBytes) {
  TokenTable table = tableOf({"a"});
  ScoredBpe model(table, {0}, {false});
  Ids ids;
  std::string_view missing;
  EXPECT_FALSE(model.encode("a\xC3\xA9", ids, &missing));
  EXPECT_EQ(missing, "\xC3\xA9");
  model.setUnknown(7);
  EXPECT_EQ(encode(model, "xya\xC3\xA9"), (Ids{7, 0, 7}));
  std::array<int32_t, 256> bytes;
  for (int byte = 0; byte < 256; ++byte)
    bytes[size_t(byte)] = 1000 + byte;
  model.setByteFallback(bytes);
  EXPECT_EQ(encode(model, "a\xC3\xA9"), (Ids{0, 1000 + 0xC3, 1000 + 0xA9}));
}

TEST(Unigram, OfEqualSumsTheLongerLastTokenStays) {
  Unigram model;
  model.add("a", 0, -1);
  model.add("aa", 1, -2);
  EXPECT_EQ(encode(model, "aa"), Ids{1});
  EXPECT_EQ(encode(model, "aaa"), (Ids{0, 1}));
}

TEST(Unigram, TheBestSumIsNotTheLongestToken) {
  Unigram model;
  model.add("a", 0, -1);
  model.add("b", 1, -1);
  model.add("ab", 2, -3);
  EXPECT_EQ(encode(model, "ab"), (Ids{0, 1}));
}

TEST(Unigram, UnknownCharactersCostMoreThanAnyToken) {
  Unigram model;
  model.add("a", 0, -5);
  model.setUnknown(9);
  EXPECT_EQ(encode(model, "xyaz"), (Ids{9, 0, 9}));
}

// It costs 10 more than the rarest token: what two tokens spell goes before it, though the rest would cost
// less.
TEST(Unigram, AnUnknownCharacterCostsMoreThanTheRarestToken) {
  Unigram model;
  model.add("xa", 0, -8);
  model.add("a", 1, -5);
  model.add("b", 2, -3);
  model.add("ab", 3, -1);
  model.setUnknown(9);
  EXPECT_EQ(encode(model, "xab"), (Ids{0, 2})); // -11, and -8 - 10 - 1 with an unknown x
  EXPECT_EQ(encode(model, "yab"), (Ids{9, 3}));
}
