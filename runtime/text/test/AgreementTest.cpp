// Same ids as Hugging Face's tokenizers on random Unicode text (made by test/Inputs/make_tokenizer_cases.py),
// and as the expected results of the test models.
#include "TestFiles.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <nlohmann/json.hpp>
#include <sstream>

using namespace tessera;
using namespace tessera::text;
using nlohmann::json;
using tessera::io::test::readBytes;

TEST(Agreement, EveryPreTokenizerCutsWhereHuggingFaceCuts) {
  json cases = json::parse(readBytes(TESSERA_INPUTS "/tokenizer_cases.json"));
  json definition = cases["tokenizer"];
  ASSERT_GE(cases["cases"].size(), 14u);
  std::vector<json> seen;
  for (const json &one : cases["cases"]) {
    definition["pre_tokenizer"] = one["pre_tokenizer"];
    definition["model"]["ignore_merges"] = one["ignore_merges"];
    auto tokenizer = Tokenizer::fromJson(definition.dump(), "cases");
    ASSERT_TRUE(tokenizer) << one["name"] << tokenizer.failure().message();
    for (size_t i = 0; i < cases["texts"].size(); ++i) {
      auto ids = (*tokenizer)->encode(cases["texts"][i].get<std::string>());
      ASSERT_TRUE(ids) << ids.failure().message();
      EXPECT_EQ(*ids, one["ids"][i].get<std::vector<int32_t>>()) << one["name"] << ", text " << i;
    }
    seen.push_back(one["ids"]);
  }
  // The cases can tell the pre-tokenizers apart.
  for (size_t i = 0; i < seen.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_NE(seen[i], seen[j]) << cases["cases"][i]["name"] << " and " << cases["cases"][j]["name"];
}

TEST(Agreement, BothSpellingsOfMergesAreTheSame) {
  json cases = json::parse(readBytes(TESSERA_INPUTS "/tokenizer_cases.json"));
  json definition = cases["tokenizer"];
  for (json &merge : definition["model"]["merges"])
    if (merge.is_array())
      merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  auto strings = Tokenizer::fromJson(definition.dump(), "strings");
  auto pairs = Tokenizer::fromJson(cases["tokenizer"].dump(), "pairs");
  ASSERT_TRUE(strings && pairs);
  for (const json &text : cases["texts"])
    EXPECT_EQ(*(*strings)->encode(text.get<std::string>()), *(*pairs)->encode(text.get<std::string>()));
}

TEST(Agreement, TextComesBackFromItsIds) {
  json cases = json::parse(readBytes(TESSERA_INPUTS "/tokenizer_cases.json"));
  json definition = cases["tokenizer"];
  definition["added_tokens"] = json::array(); // specials would be left out
  auto tokenizer = Tokenizer::fromJson(definition.dump(), "cases");
  ASSERT_TRUE(tokenizer);
  for (const json &text : cases["texts"])
    EXPECT_EQ((*tokenizer)->decode(*(*tokenizer)->encode(text.get<std::string>())), text.get<std::string>());
}

// llama.cpp's own pairs of texts and the ids that Hugging Face's tokenizers give, with the whole
// vocabularies.
TEST(Agreement, RealVocabularies) {
  const std::filesystem::path folder = TESSERA_VOCABULARIES;
  if (!std::filesystem::exists(folder / "version"))
    GTEST_SKIP() << "no " TESSERA_VOCABULARIES "; scripts/fetch-llamacpp-tests";
  const std::string separator = "\n__ggml_vocab_test__\n";
  int vocabularies = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    std::string path = entry.path().string(), inputs = path + ".inp", outputs = path + ".out";
    if (entry.path().extension() != ".gguf" || !std::filesystem::exists(inputs))
      continue;
    ++vocabularies;
    auto model = io::ModelFile::open(path);
    ASSERT_TRUE(model) << model.failure().message();
    auto tokenizer = Tokenizer::load(**model);
    ASSERT_TRUE(tokenizer) << tokenizer.failure().message();
    std::istringstream lines(readBytes(outputs));
    std::string texts = readBytes(inputs), line;
    int count = 0;
    for (size_t at = 0; at < texts.size(); ++count) {
      size_t end = std::min(texts.find(separator, at), texts.size());
      std::string text = texts.substr(at, end - at);
      at = end + separator.size();
      ASSERT_TRUE(std::getline(lines, line)) << path;
      std::istringstream numbers(line);
      std::vector<int32_t> expected;
      for (int32_t id; numbers >> id;)
        expected.push_back(id);
      auto ids = (*tokenizer)->encode(text, /*addsAround=*/false);
      ASSERT_TRUE(ids) << path << ": " << ids.failure().message();
      EXPECT_EQ(*ids, expected) << path << ": " << text;
    }
    EXPECT_GE(count, 40) << path;
    EXPECT_FALSE(std::getline(lines, line)) << path;
  }
  EXPECT_EQ(vocabularies, 14); // all but the WordPiece one
}

TEST(Agreement, SmolLm2) {
  if (!std::filesystem::exists(TESSERA_SMOLLM2))
    GTEST_SKIP() << "no " TESSERA_SMOLLM2 "; scripts/fetch-smollm2 build/models";
  auto model = io::ModelFile::open(TESSERA_SMOLLM2);
  ASSERT_TRUE(model) << model.failure().message();
  auto tokenizer = Tokenizer::load(**model);
  ASSERT_TRUE(tokenizer) << tokenizer.failure().message();
  for (const json &run : json::parse(readBytes(TESSERA_INPUTS "/models/smollm2-135m/expected.json"))) {
    EXPECT_EQ(*(*tokenizer)->encode(run["prompt"].get<std::string>()),
              run["prompt_tokens"].get<std::vector<int32_t>>());
    std::string text = run["text"];
    if (size_t end = text.find("<|im_end|>"); end != std::string::npos)
      text.erase(end);
    EXPECT_EQ((*tokenizer)->decode(run["generated"].get<std::vector<int32_t>>()), text);
  }
}
