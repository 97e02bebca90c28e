#include "TestFiles.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::text;
using nlohmann::json;

static json tinyDefinition() {
  return json::parse(io::test::readBytes(TESSERA_INPUTS "/models/tiny-llama/tokenizer.json"));
}

// What fromJson says, "" where it works.
static std::string failureOf(const json &definition) {
  auto tokenizer = Tokenizer::fromJson(definition.dump(), "t.json");
  return tokenizer ? "" : tokenizer.failure().message();
}

// The tiny tokenizer with one value replaced is refused, and the message names it.
static void expectRefused(const char *pointer, const json &value, const std::string &part) {
  json definition = tinyDefinition();
  definition[json::json_pointer(pointer)] = value;
  std::string message = failureOf(definition);
  EXPECT_NE(message.find(part), std::string::npos) << pointer << " = " << value << "\ngave: " << message;
}

TEST(TokenizerJson, TheTinyModelsAreRead) {
  auto tokenizer = Tokenizer::fromJson(tinyDefinition().dump(), "t.json");
  ASSERT_TRUE(tokenizer) << tokenizer.failure().message();
  EXPECT_EQ((*tokenizer)->vocabSize(), 384);
  auto ids = (*tokenizer)->encode("<|endoftext|>the");
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->front(), 0);
  for (int32_t id = 384; id <= 388; ++id) // they occur in expected output
    EXPECT_EQ((*tokenizer)->bytes(id), "");
}

TEST(TokenizerJson, ComponentsThatAreNotImplementedAreNamed) {
  expectRefused("/model/type", "WordPiece", "WordPiece");
  expectRefused("/model/continuing_subword_prefix", "##", "continuing_subword_prefix");
  expectRefused("/model/end_of_word_suffix", "</w>", "end_of_word_suffix");
  expectRefused("/model/dropout", 0.1, "dropout");
  expectRefused("/normalizer", {{"type", "BertNormalizer"}}, "the normalizer BertNormalizer");
  expectRefused("/pre_tokenizer", {{"type", "BertPreTokenizer"}}, "the pre_tokenizer BertPreTokenizer");
  expectRefused("/pre_tokenizer", nullptr, "the decoder ByteLevel without the pre_tokenizer ByteLevel");
  expectRefused("/decoder", {{"type", "Replace"}, {"pattern", {{"Regex", "a"}}}, {"content", ""}},
                "a regular expression of the decoder Replace");
  expectRefused("/pre_tokenizer",
                {{"type", "Sequence"}, {"pretokenizers", {{{"type", "ByteLevel"}}, {{"type", "Digits"}}}}},
                "Digits after ByteLevel");
  expectRefused("/post_processor", {{"type", "RobertaProcessing"}}, "the post_processor RobertaProcessing");
  expectRefused("/decoder", {{"type", "WordPiece"}}, "the decoder WordPiece");
  expectRefused("/added_tokens/0/id", 5, "has the id 5, and 0 in the vocabulary");
}

TEST(TokenizerJson, LargeVocabulariesMayStandInAnyOrder) {
  json definition = tinyDefinition();
  for (int id = 1000; id < 130000; ++id) // read by name: "aa" comes early and has the largest id
    definition["model"]["vocab"]["z" + std::to_string(id)] = id;
  definition["model"]["vocab"]["aa"] = 130000;
  auto tokenizer = Tokenizer::fromJson(definition.dump(), "t.json");
  ASSERT_TRUE(tokenizer) << tokenizer.failure().message();
  EXPECT_EQ((*tokenizer)->bytes(130000), "aa");
  EXPECT_EQ((*tokenizer)->bytes(999), "");
}

TEST(TokenizerJson, DamagedDefinitionsAreRefused) {
  expectRefused("/model", nullptr, "\"model\"");
  expectRefused("/model/vocab", json::array(), "\"vocab\"");
  expectRefused("/model/vocab/a", -1, "the id of token \"a\"");
  expectRefused("/model/vocab/a", 2147483647, "out of range");
  expectRefused("/model/vocab/a", 5, "id 5 is in the vocabulary twice");
  expectRefused("/model/merges", 3, "\"merges\"");
  expectRefused("/model/merges/3", "ab", "the merge \"ab\"");
  for (json merge : {json{"a"}, json{"a", "b", "c"}, json{"a", "b", "c", "d"}, json::array(), json{"a", 1},
                     json{"a", {"b"}}, json(3)})
    expectRefused("/model/merges/3", merge, "an entry of \"merges\"");
  for (json id : {json("1"), json(1.5), json::array({1}), json::object(), json(true), json()})
    expectRefused("/model/vocab/a", id, "the id of token \"a\"");
  expectRefused("/model/merges/3", {"zzz", "a"},
                "merge 3, \"zzz\" with \"a\", names a token that is not in the vocabulary");
  expectRefused("/model/unk_token", "nowhere", "unk_token \"nowhere\"");
  expectRefused("/model/ignore_merges", "yes", "\"ignore_merges\" is not true or false");
  expectRefused("/added_tokens/0/id", 3000000, "out of range");
  expectRefused("/added_tokens/0/content", "", "an entry of \"added_tokens\"");
  expectRefused("/pre_tokenizer", {{"type", "Split"}, {"behavior", "Isolated"}},
                "the pattern of the pre_tokenizer Split");
  expectRefused("/pre_tokenizer", {{"type", "Split"}, {"behavior", "Odd"}, {"pattern", {{"Regex", "a"}}}},
                "\"Odd\"");
  expectRefused("/pre_tokenizer",
                {{"type", "Split"}, {"behavior", "Isolated"}, {"pattern", {{"Regex", "("}}}},
                "bad split pattern");
  for (const char *text : {"", "{", "[]", "3", "null"}) {
    auto tokenizer = Tokenizer::fromJson(text, "t.json");
    EXPECT_FALSE(tokenizer) << text;
  }
}

TEST(TokenizerJson, TemplatesPutTokensAroundTheText) {
  json definition = tinyDefinition();
  auto special = [](const char *name) { return json{{"SpecialToken", {{"id", name}, {"type_id", 0}}}}; };
  json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  json table = {{"<b>", {{"id", "<b>"}, {"ids", {1}}}}, {"<e>", {{"id", "<e>"}, {"ids", {2, 3}}}}};
  definition["post_processor"] = {{"type", "Sequence"},
                                  {"processors",
                                   {{{"type", "ByteLevel"}},
                                    {{"type", "TemplateProcessing"},
                                     {"single", {special("<b>"), text, special("<e>")}},
                                     {"special_tokens", table}}}}};
  auto tokenizer = Tokenizer::fromJson(definition.dump(), "t.json");
  ASSERT_TRUE(tokenizer) << tokenizer.failure().message();
  EXPECT_EQ(*(*tokenizer)->encode(""), (std::vector<int32_t>{1, 2, 3}));
  std::vector<int32_t> around = *(*Tokenizer::fromJson(tinyDefinition().dump(), "t.json"))->encode("a");
  around.insert(around.begin(), 1);
  around.insert(around.end(), {2, 3});
  EXPECT_EQ(*(*tokenizer)->encode("a"), around);
  definition["post_processor"]["processors"][1]["special_tokens"]["<b>"]["ids"] = {99999};
  EXPECT_NE(failureOf(definition).find("the id of \"<b>\""), std::string::npos);
  definition["post_processor"]["processors"][1]["single"] = {special("<x>"), text};
  EXPECT_NE(failureOf(definition).find("the token \"<x>\""), std::string::npos);
  // A short file would stand for a list of any length.
  table["<e>"]["ids"] = std::vector<int32_t>(600, 2);
  definition["post_processor"]["processors"][1]["special_tokens"] = table;
  definition["post_processor"]["processors"][1]["single"] = {text, special("<e>"), special("<e>")};
  EXPECT_NE(failureOf(definition).find("more than 1024 tokens around a text"), std::string::npos);
}

TEST(TokenizerJson, TheLongestOfTheLeftmostAddedTokensIsTaken) {
  json definition = tinyDefinition();
  definition["added_tokens"].push_back({{"id", 384}, {"content", "<a>"}, {"special", true}});
  definition["added_tokens"].push_back({{"id", 385}, {"content", "<a><b>"}, {"special", true}});
  definition["added_tokens"].push_back({{"id", 386}, {"content", "<b><a>"}, {"special", true}});
  auto tokenizer = Tokenizer::fromJson(definition.dump(), "t.json");
  ASSERT_TRUE(tokenizer) << tokenizer.failure().message();
  EXPECT_EQ(*(*tokenizer)->encode("<a><b><a>"), (std::vector<int32_t>{385, 384}));
  EXPECT_EQ(*(*tokenizer)->encode("<b><a><a>"), (std::vector<int32_t>{386, 384}));
}
