#include "TestFiles.h"
#include "tessera/runtime/text/Tokenizer.h"

using namespace tessera;
using namespace tessera::text;
using namespace tessera::io::test;

namespace {
class EndTokens : public ScratchFolder {
protected:
  Result<std::vector<int32_t>> ends() {
    auto model = io::ModelFile::open(folder);
    EXPECT_TRUE(model) << model.failure().message();
    return endTokens(**model);
  }
};
} // namespace

TEST_F(EndTokens, GenerationConfigComesBeforeConfig) {
  write("config.json", R"({"eos_token_id": 3})");
  EXPECT_EQ(*ends(), std::vector<int32_t>{3});
  write("generation_config.json", R"({"eos_token_id": [5, 7]})");
  EXPECT_EQ(*ends(), (std::vector<int32_t>{5, 7}));
  write("generation_config.json", R"({"eos_token_id": null})");
  EXPECT_EQ(*ends(), std::vector<int32_t>{3});
  write("config.json", "{}");
  EXPECT_EQ(*ends(), std::vector<int32_t>{});
}

TEST_F(EndTokens, AnythingElseIsRefused) {
  for (const char *value : {"\"</s>\"", "-1", "1.5", "[1, \"x\"]", "[[1]]", "4294967296", "{}", "true"}) {
    write("config.json", std::string(R"({"eos_token_id": )") + value + "}");
    auto result = ends();
    ASSERT_FALSE(result) << value;
    EXPECT_NE(result.failure().message().find("config.json, eos_token_id"), std::string::npos);
  }
  write("config.json", "{");
  EXPECT_FALSE(ends());
  write("config.json", R"({"eos_token_id": 3})");
  for (const char *damaged : {"", "[]", "null", R"({"eos_token_id": 3)"}) {
    write("generation_config.json", damaged);
    auto result = ends();
    ASSERT_FALSE(result) << damaged;
    EXPECT_NE(result.failure().message().find("generation_config.json"), std::string::npos);
  }
}

// An id of the padding, behind the last that has a text, is one of the model's.
TEST_F(EndTokens, TheVocabularyHasThem) {
  write("config.json", R"({"eos_token_id": [2, 999]})");
  auto model = io::ModelFile::open(folder);
  ASSERT_TRUE(model);
  EXPECT_EQ(*endTokens(**model, 1000), (std::vector<int32_t>{2, 999}));
  EXPECT_EQ(*endTokens(**model, 999), std::vector<int32_t>{2});
  GgufBytes file;
  file.value("tokenizer.ggml.eot_token_id", 4, raw(uint32_t(7)));
  model = io::ModelFile::open(write("m.gguf", file.bytes()));
  ASSERT_TRUE(model);
  EXPECT_EQ(*endTokens(**model, 8), std::vector<int32_t>{7});
  EXPECT_EQ(*endTokens(**model, 7), std::vector<int32_t>{});
}

TEST_F(EndTokens, GgufNamesThem) {
  GgufBytes file;
  file.value("tokenizer.ggml.eos_token_id", 4, raw(uint32_t(2)));
  auto model = io::ModelFile::open(write("m.gguf", file.bytes()));
  ASSERT_TRUE(model);
  EXPECT_EQ(*endTokens(**model), std::vector<int32_t>{2});
  // Those that end a turn and a message end a text, too.
  file.value("tokenizer.ggml.eom_token_id", 4, raw(uint32_t(9)));
  file.value("tokenizer.ggml.eot_token_id", 4, raw(uint32_t(7)));
  model = io::ModelFile::open(write("m.gguf", file.bytes()));
  ASSERT_TRUE(model);
  EXPECT_EQ(*endTokens(**model), (std::vector<int32_t>{2, 7, 9}));
  file.valueCount = 1;
  file.values = GgufBytes::text("tokenizer.ggml.eos_token_id") + raw(uint32_t(8)) + GgufBytes::text("x");
  model = io::ModelFile::open(write("m.gguf", file.bytes()));
  ASSERT_TRUE(model);
  EXPECT_FALSE(endTokens(**model));
}
