// Same ids and texts as Hugging Face's tokenizers and SentencePiece on random Unicode text, for all models,
// normalizers, pre-tokenizers and decoders (made by test/Inputs/make_tokenizer_pipelines.py).
#include "TestFiles.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::text;
using nlohmann::json;
using tessera::io::test::readBytes;

static json inputs(const char *name) {
  const char *elsewhere = std::getenv("TESSERA_PIPELINES"); // more texts than the repository holds
  return json::parse(readBytes(std::string(elsewhere ? elsewhere : TESSERA_INPUTS) + "/" + name));
}

static std::string fromBase64(const std::string &text) {
  static const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size() && text[i] != '='; ++i) {
    bits = bits << 6 | uint32_t(letters.find(text[i]));
    if (i % 4 != 0)
      bytes += char(bits >> (6 - 2 * (i % 4)));
  }
  return bytes;
}

TEST(Pipeline, EveryComponentDoesWhatHuggingFacesDoes) {
  json all = inputs("tokenizer_pipelines.json");
  ASSERT_GE(all["cases"].size(), 25u);
  std::vector<json> seen;
  for (const json &one : all["cases"]) {
    json definition = all["vocabularies"][one["vocabulary"].get<std::string>()];
    definition.update(one["parts"]);
    definition["model"].update(one["model"]);
    auto tokenizer = Tokenizer::fromJson(definition.dump(), "cases");
    ASSERT_TRUE(tokenizer) << one["name"] << tokenizer.failure().message();
    for (size_t i = 0; i < all["texts"].size(); ++i) {
      auto ids = (*tokenizer)->encode(all["texts"][i].get<std::string>());
      ASSERT_TRUE(ids) << one["name"] << ids.failure().message();
      EXPECT_EQ(*ids, one["ids"][i].get<std::vector<int32_t>>())
          << one["name"] << ", text " << all["texts"][i];
      if (!one["text"][i].is_null()) // where Hugging Face's can decode it
        EXPECT_EQ((*tokenizer)->decode(one["ids"][i]), one["text"][i].get<std::string>())
            << one["name"] << ", text " << all["texts"][i];
    }
    seen.push_back({one["vocabulary"], one["ids"], one["text"]});
  }
  // The cases can tell the components apart.
  for (size_t i = 0; i < seen.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_NE(seen[i], seen[j]) << all["cases"][i]["name"] << " and " << all["cases"][j]["name"];
}

// The first piece gets a blank in front where the text's own front is still there. What Precompiled drops
// there leaves its place to what follows; what Strip takes away is gone.
TEST(Pipeline, TheFrontThatPrecompiledDropsIsNotLost) {
  json all = inputs("tokenizer_pipelines.json");
  auto found = std::find_if(all["cases"].begin(), all["cases"].end(),
                            [](const json &one) { return one["name"] == "precompiled"; });
  ASSERT_NE(found, all["cases"].end());
  json definition = all["vocabularies"]["unigram"];
  definition.update((*found)["parts"]);
  definition["pre_tokenizer"] = {
      {"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "first"}, {"split", false}};
  const json map = definition["normalizer"]["normalizers"][0];
  auto ids = [&](const json &normalizer, const char *text) {
    definition["normalizer"] = normalizer;
    auto tokenizer = Tokenizer::fromJson(definition.dump(), "cases");
    EXPECT_TRUE(tokenizer) << tokenizer.failure().message();
    return *(*tokenizer)->encode(text);
  };
  EXPECT_EQ(ids(map, "\u200bword"), ids(map, "word"));
  const json strip = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}};
  EXPECT_NE(ids(strip, " word"), ids(strip, "word"));
}

TEST(Pipeline, SentencePiecesOwnFiles) {
  json all = inputs("tokenizer_sentencepiece.json");
  ASSERT_EQ(all.size(), 4u);
  for (const json &one : all) {
    auto tokenizer = Tokenizer::fromSentencePiece(fromBase64(one["model"]), "", "cases/tokenizer.model");
    ASSERT_TRUE(tokenizer) << one["name"] << tokenizer.failure().message();
    for (size_t i = 0; i < one["texts"].size(); ++i) {
      auto ids = (*tokenizer)->encode(one["texts"][i].get<std::string>(), /*addsAround=*/false);
      ASSERT_TRUE(ids) << one["name"] << ids.failure().message();
      EXPECT_EQ(*ids, one["ids"][i].get<std::vector<int32_t>>())
          << one["name"] << ", text " << one["texts"][i];
    }
  }
}
