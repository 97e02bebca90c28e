// Tokenizers that are made to cost much: a file, or a text with one, takes no more than its size allows.
#include "Charsmap.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::text;
using nlohmann::json;

namespace {
using Read = Result<std::unique_ptr<Tokenizer>>;

// BPE on characters: <unk>, "a", "b" and a blank.
json smallDefinition() {
  return json::parse(R"({"model": {"type": "BPE", "vocab": {"<unk>": 0, "a": 1, "b": 2, " ": 3}, "merges": [],
                                   "unk_token": "<unk>"}, "decoder": {"type": "Fuse"}})");
}

Read with(const std::string &name, const json &value) {
  json definition = smallDefinition();
  definition[json::json_pointer(name)] = value;
  return Tokenizer::fromJson(definition.dump(), "t.json");
}

void expectRefused(const Read &tokenizer, const std::string &why) {
  ASSERT_FALSE(tokenizer) << "wanted: " << why;
  EXPECT_NE(tokenizer.failure().message().find(why), std::string::npos) << tokenizer.failure().message();
}

json replace(const std::string &what, const std::string &content) {
  return {{"type", "Replace"}, {"pattern", {{"String", what}}}, {"content", content}};
}

void add32(std::string &bytes, uint32_t value) {
  for (int i = 0; i < 4; ++i)
    bytes += char(value >> 8 * i);
}

// A charsmap of one byte's rule: `from` is replaced by what stands at `place` of `texts`. Units 0 to 255 are
// the children of the root, the value hangs at `from` + 256.
std::string charsmapOf(char from, uint32_t place, const std::string &texts) {
  const auto byte = static_cast<uint8_t>(from);
  std::string blob;
  add32(blob, 4 * 512);
  for (uint32_t unit = 0; unit < 512; ++unit)
    add32(blob, unit == byte              ? byte | 0x100u | 0x100u << 10
                : unit == (byte ^ 0x100u) ? 0x80000000u | place
                                          : 0);
  return blob + texts;
}
} // namespace

TEST(TokenizerLimits, StepsOfANormalizerDoNotMultiply) {
  // Each step makes the text 8 times as long, which one step may.
  json steps = json::array();
  for (int i = 0; i < 7; ++i)
    steps.push_back(replace("a", "aaaaaaaa"));
  Read tokenizer = with("/normalizer", {{"type", "Sequence"}, {"normalizers", steps}});
  ASSERT_TRUE(tokenizer) << tokenizer.failure().message();
  auto ids = (*tokenizer)->encode("aaaa");
  ASSERT_FALSE(ids);
  EXPECT_NE(ids.failure().message().find("more than 64 times as long"), std::string::npos);
  EXPECT_TRUE((*tokenizer)->encode("bb"));
}

TEST(TokenizerLimits, WhatStandsBeforeEveryStretchCounts) {
  json definition = smallDefinition();
  definition["normalizer"] = {{"type", "Prepend"}, {"prepend", std::string(4000, 'b')}};
  definition["added_tokens"] = {{{"id", 4}, {"content", "<s>"}, {"special", true}}};
  auto tokenizer = Tokenizer::fromJson(definition.dump(), "t.json");
  ASSERT_TRUE(tokenizer) << tokenizer.failure().message();
  std::string text;
  for (int i = 0; i < 100; ++i)
    text += "a<s>";
  auto ids = (*tokenizer)->encode(text);
  ASSERT_FALSE(ids);
  EXPECT_NE(ids.failure().message().find("more than 64 tokens for each of its bytes"), std::string::npos)
      << ids.failure().message();
  ids = (*tokenizer)->encode("a<s>");
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->size(), 4002u);
}

TEST(TokenizerLimits, PartsAndTokensAreOfAnEnd) {
  json steps(std::vector<json>(300, {{"type", "Lowercase"}}));
  expectRefused(with("/normalizer", {{"type", "Sequence"}, {"normalizers", steps}}),
                "its normalizer brings it to more than 256 parts");
  expectRefused(with("/model/vocab/" + std::string(4097, 'c'), 4), "the token 4 is longer than 4096 bytes");
  EXPECT_TRUE(with("/model/vocab/" + std::string(4096, 'c'), 4));
  json token = {{"id", 4}, {"content", std::string(4097, 'c')}};
  expectRefused(with("/added_tokens", json::array({token})), "the token 4 is longer than 4096 bytes");
  // One that is looked for in the normalized text is as long as that makes it.
  json definition = smallDefinition();
  definition["normalizer"] = replace("c", "cccc");
  definition["added_tokens"] = {{{"id", 4}, {"content", std::string(2000, 'c')}, {"normalized", true}}};
  expectRefused(Tokenizer::fromJson(definition.dump(), "t.json"), "the token 4 is longer than 4096 bytes");
}

TEST(TokenizerLimits, TheReplacementOfABlankIsACharacter) {
  auto metaspace = [](const char *blank) {
    return json{{"type", "Metaspace"}, {"replacement", blank}, {"prepend_scheme", "never"}};
  };
  for (const char *blank : {"", "__", "a\xE2\x96\x81"}) {
    expectRefused(with("/pre_tokenizer", metaspace(blank)), "the replacement of the pre_tokenizer Metaspace");
    expectRefused(with("/decoder", metaspace(blank)), "the replacement of the decoder Metaspace");
  }
  EXPECT_TRUE(with("/pre_tokenizer", metaspace("\xE2\x96\x81")));
}

TEST(TokenizerLimits, DecodersCountWhatTheyMakeOnTheWay) {
  // A token of 4096 letters, each of them a megabyte before it is nothing again.
  json definition = smallDefinition();
  const std::string megabyte(1 << 20, 'd');
  definition["model"]["vocab"][std::string(4096, 'c')] = 4;
  definition["decoder"] = {{"type", "Sequence"},
                           {"decoders", {replace("c", megabyte), replace(megabyte, "")}}};
  expectRefused(Tokenizer::fromJson(definition.dump(), "t.json"), "its decoder makes more than 64 MiB");
}

TEST(TokenizerLimits, ScoresAreNumbers) {
  auto read = [](const std::string &score) {
    return Tokenizer::fromJson(
        R"({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["a", )" + score +
            R"(]]}, "decoder": {"type": "Fuse"}})",
        "t.json");
  };
  EXPECT_TRUE(read("-1.5"));
  for (const char *score : {"nan", "inf", "-inf", "1e999", "infinity"})
    expectRefused(read(score), "an entry of \"vocab\" is missing or damaged");
}

// White space before a token belongs to it, up to the token before: looked at once, however many there are.
TEST(TokenizerLimits, TokensOfWhiteSpaceTakeItOnce) {
  json definition = smallDefinition();
  definition["added_tokens"] = {{{"id", 4}, {"content", "\t"}, {"lstrip", true}, {"normalized", false}},
                                {{"id", 5}, {"content", "<m>"}, {"lstrip", true}, {"normalized", false}}};
  auto tokenizer = Tokenizer::fromJson(definition.dump(), "t.json");
  ASSERT_TRUE(tokenizer) << tokenizer.failure().message();
  auto ids = (*tokenizer)->encode("a  \t  <m>b\t\t");
  ASSERT_TRUE(ids);
  EXPECT_EQ(*ids, (std::vector<int32_t>{1, 4, 5, 2, 4, 4}));
  const std::string many(1 << 16, '\t');
  ids = (*tokenizer)->encode(many);
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->size(), many.size());
}

TEST(CharsmapLimits, ARuleGivesWholeCharacters) {
  auto map = Charsmap::read(charsmapOf('a', 0, std::string("\xC3\xA9\0", 3)));
  ASSERT_TRUE(map);
  ASSERT_TRUE(map->longest("ab"));
  EXPECT_EQ(map->longest("ab")->replacement, "\xC3\xA9");
  EXPECT_EQ(map->longest("ab")->length, 1u);
  EXPECT_FALSE(map->longest("ba"));
  // From the second byte of that letter on.
  map = Charsmap::read(charsmapOf('a', 1, std::string("\xC3\xA9\0", 3)));
  ASSERT_TRUE(map);
  EXPECT_FALSE(map->longest("ab"));
}

TEST(CharsmapLimits, MarksWithoutEndAreNotReplacedWithoutEnd) {
  // One character to a person: a letter, and marks on it. Each mark becomes a megabyte.
  std::string text = "a", longText(1 << 20, 'x');
  for (int i = 0; i < 1000; ++i)
    text += "\xCC\x81";
  auto map = Charsmap::read(charsmapOf('\xCC', 0, longText + std::string(1, '\0')));
  auto graphemes = Regex::graphemes();
  ASSERT_TRUE(map && graphemes);
  auto replaced = map->replaceGraphemes(text, **graphemes, /*most=*/1000);
  ASSERT_TRUE(replaced);
  EXPECT_EQ(replaced->size(), 1 + longText.size());
}

TEST(CharsmapLimits, CirclesEnd) {
  // Every unit leads back to the root, and says that a rule ends there.
  std::string blob;
  add32(blob, 4 * 256);
  for (uint32_t unit = 0; unit < 256; ++unit)
    add32(blob, unit ? unit | 0x100u | unit << 10 : 0);
  auto map = Charsmap::read(blob + std::string("x\0", 2));
  ASSERT_TRUE(map);
  auto rule = map->longest(std::string(100000, 'a'));
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->length, 256u);
}
