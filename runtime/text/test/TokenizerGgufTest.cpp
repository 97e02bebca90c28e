#include "TestFiles.h"
#include "tessera/runtime/text/Tokenizer.h"

using namespace tessera;
using namespace tessera::text;
using namespace tessera::io::test;

namespace {
using Ids = std::vector<int32_t>;

class TokenizerGguf : public ScratchFolder {
protected:
  // a, b, 1, a blank, "ab", "a1" and a control token; the rest is up to the test.
  struct Parts {
    std::string model = "gpt2", pre = "gpt-2";
    std::vector<std::string> tokens = {"a", "b", "1", "\xC4\xA0", "ab", "a1", "<s>", "[PAD7]"},
                             merges = {"a b", "a 1"};
    std::vector<int32_t> types = {1, 1, 1, 1, 1, 1, 3, 5};
    GgufBytes more;
  };
  static std::string array(const std::vector<std::string> &texts) {
    std::string bytes = raw(uint32_t(8)) + raw(uint64_t(texts.size()));
    for (const std::string &text : texts)
      bytes += GgufBytes::text(text);
    return bytes;
  }
  Result<std::unique_ptr<Tokenizer>> load(const Parts &parts) {
    GgufBytes file = parts.more;
    auto text = [&](const char *key, const std::string &value) {
      file.value(std::string("tokenizer.ggml.") + key, 8, GgufBytes::text(value));
    };
    text("model", parts.model);
    if (!parts.pre.empty())
      text("pre", parts.pre);
    file.value("tokenizer.ggml.tokens", 9, array(parts.tokens))
        .value("tokenizer.ggml.merges", 9, array(parts.merges));
    std::string types = raw(uint32_t(5)) + raw(uint64_t(parts.types.size()));
    for (int32_t type : parts.types)
      types += raw(type);
    file.value("tokenizer.ggml.token_type", 9, types);
    auto model = io::ModelFile::open(write("m.gguf", file.bytes()));
    EXPECT_TRUE(model) << model.failure().message();
    models.push_back(model.take());
    return Tokenizer::load(*models.back());
  }
  void expectRefused(const Parts &parts, const std::string &part) {
    auto tokenizer = load(parts);
    std::string message = tokenizer ? "" : tokenizer.failure().message();
    EXPECT_NE(message.find(part), std::string::npos) << "wanted: " << part << "\ngave: " << message;
  }
  std::vector<int32_t> ids(const Parts &parts, const char *text) {
    auto tokenizer = load(parts);
    EXPECT_TRUE(tokenizer) << tokenizer.failure().message();
    auto result = (*tokenizer)->encode(text);
    EXPECT_TRUE(result) << result.failure().message();
    return result ? *result : Ids();
  }
  std::vector<std::unique_ptr<io::ModelFile>> models;
};
} // namespace

TEST_F(TokenizerGguf, ControlTokensAreParsedAndUnusedOnesHaveNoText) {
  auto tokenizer = load({});
  ASSERT_TRUE(tokenizer) << tokenizer.failure().message();
  EXPECT_EQ(*(*tokenizer)->encode("<s>ab"), (Ids{6, 4}));
  EXPECT_TRUE((*tokenizer)->isSpecial(6));
  EXPECT_EQ((*tokenizer)->bytes(7), "");
}

TEST_F(TokenizerGguf, TheNameOfTheSplitDecidesWhereTextIsCut) {
  Parts parts;
  EXPECT_EQ(ids(parts, "a1"), (Ids{0, 2})); // letters and numbers are cut apart
  parts.tokens = {"a", "b", "1", "\xC4\xA0", "ab", "11", "<s>", "[PAD7]"}, parts.merges = {"1 1"};
  EXPECT_EQ(ids(parts, "11"), Ids{5});
  for (const char *pre : {"smollm", "starcoder", "qwen2", "tekken", "command-r", "stablelm2", "qwen35",
                          "deepseek-coder"}) { // digits one by one
    parts.pre = pre;
    EXPECT_EQ(ids(parts, "11"), (Ids{2, 2})) << pre;
  }
  parts.pre = "llama-bpe";
  EXPECT_EQ(ids(parts, "11"), Ids{5});
  parts.pre = "brand-new";
  expectRefused(parts, "the split \"brand-new\" (tokenizer.ggml.pre) is not known");
}

// "aba" is a token that no merges make: "ba" goes first, and "a" is left.
TEST_F(TokenizerGguf, WordsThatAreTokensStayWholeWhereTheSplitSaysSo) {
  Parts parts;
  parts.tokens[3] = "ba", parts.tokens[5] = "aba", parts.merges = {"b a", "ab a"};
  for (const char *pre : {"tekken", "llama-bpe"}) {
    parts.pre = pre;
    EXPECT_EQ(ids(parts, "aba"), Ids{5}) << pre;
  }
  for (const char *pre : {"gpt-2", "qwen2"}) {
    parts.pre = pre;
    EXPECT_EQ(ids(parts, "aba"), (Ids{0, 3})) << pre;
  }
}

// "e" and U+0301 are U+00E9, whose two bytes are merged, where the model's own tokenizer composes texts.
TEST_F(TokenizerGguf, TextsAreComposedForSplitsThatDoSo) {
  Parts parts;
  const std::string first = "\xC3\x83", second = "\xC2\xA9"; // the bytes C3 and A9 as they are spelled
  parts.tokens[3] = first, parts.tokens[4] = second, parts.tokens[5] = first + second;
  parts.merges = {first + " " + second};
  for (const char *pre : {"qwen2", "mpt", "olmo", "command-r"}) {
    parts.pre = pre;
    EXPECT_EQ(ids(parts, "ae\xCC\x81"), (Ids{0, 5})) << pre;
  }
  parts.pre = "gpt-2"; // it has no token for an e
  EXPECT_FALSE((*load(parts))->encode("ae\xCC\x81"));
  // Files of GPT-NeoX may be older than names of splits.
  parts.pre = "";
  expectRefused(parts, "tokenizer.ggml.pre is missing");
  parts.more.value("general.architecture", 8, GgufBytes::text("gptneox"));
  EXPECT_EQ(ids(parts, "ae\xCC\x81"), (Ids{0, 5}));
}

TEST_F(TokenizerGguf, TokensOfAUserArePrintedAndThoseThatControlAreNot) {
  Parts parts;
  parts.tokens[6] = "<tool>", parts.types[6] = 4;
  auto tokenizer = load(parts);
  ASSERT_TRUE(tokenizer) << tokenizer.failure().message();
  EXPECT_EQ(*(*tokenizer)->encode("a<tool>b"), (Ids{0, 6, 1}));
  EXPECT_FALSE((*tokenizer)->isSpecial(6));
  EXPECT_EQ((*tokenizer)->decode({0, 6, 1}), "a<tool>b");
  parts.types[6] = 3;
  EXPECT_EQ((*load(parts))->decode({0, 6, 1}), "ab");
}

// Runs of digits are cut in threes: after two or four of them another token would begin.
TEST_F(TokenizerGguf, DigitsComeInGroupsOfThree) {
  Parts parts;
  parts.tokens = {"a", "b", "1", "\xC4\xA0", "11", "111", "1111", "[PAD7]"};
  parts.merges = {"1 1", "11 1", "11 11"};
  parts.types = {1, 1, 1, 1, 1, 1, 1, 5};
  for (const char *pre : {"llama-bpe", "default"}) {
    parts.pre = pre;
    EXPECT_EQ(ids(parts, "111"), Ids{5}) << pre;
    EXPECT_EQ(ids(parts, "1111"), (Ids{5, 2})) << pre;
    EXPECT_EQ(ids(parts, "11111111"), (Ids{5, 5, 4})) << pre;
  }
  parts.pre = "gpt-2"; // one run, whatever its length
  EXPECT_EQ(ids(parts, "1111"), Ids{6});
}

TEST_F(TokenizerGguf, BosIsAddedWhereTheFileOrTheSplitSaysSo) {
  Parts parts;
  parts.more.value("tokenizer.ggml.bos_token_id", 4, raw(uint32_t(6)));
  EXPECT_EQ(ids(parts, "a"), Ids{0});
  for (const char *pre : {"tekken", "llama-bpe"}) {
    parts.pre = pre;
    EXPECT_EQ(ids(parts, "a"), (Ids{6, 0})) << pre;
  }
  parts.more.value("tokenizer.ggml.add_bos_token", 7, raw(uint8_t(0)));
  EXPECT_EQ(ids(parts, "a"), Ids{0});
  Parts wanted;
  wanted.more.value("tokenizer.ggml.add_bos_token", 7, raw(uint8_t(1)));
  expectRefused(wanted, "bos_token_id");
  wanted.more.value("tokenizer.ggml.bos_token_id", 4, raw(uint32_t(99)));
  expectRefused(wanted, "bos_token_id");
}

// Behind the text, and only where the file asks for it.
TEST_F(TokenizerGguf, EosIsAddedBehindTheTextWhereTheFileSaysSo) {
  Parts parts;
  parts.pre = "llama-bpe";
  parts.more.value("tokenizer.ggml.eos_token_id", 4, raw(uint32_t(6)));
  EXPECT_EQ(ids(parts, "ab"), Ids{4});
  parts.more.value("tokenizer.ggml.add_eos_token", 7, raw(uint8_t(1)));
  EXPECT_EQ(ids(parts, "ab"), (Ids{4, 6}));
  Parts wanted;
  wanted.more.value("tokenizer.ggml.add_eos_token", 7, raw(uint8_t(1)));
  expectRefused(wanted, "eos_token_id");
}

namespace {
// SentencePiece's kinds: <unk>, <s>, <0x00> to <0xFF> from id 2, then "_", "a", "_a", a token of a user.
class TokenizerGgufPieces : public ScratchFolder {
protected:
  Result<std::unique_ptr<Tokenizer>> load(const std::string &kind, GgufBytes more,
                                          const std::string &architecture = "llama") {
    std::vector<std::string> tokens = {"<unk>", "<s>"};
    std::vector<int32_t> types = {2, 3};
    std::vector<float> scores = {0, 0};
    for (int byte = 0; byte < 256; ++byte) {
      char text[8];
      std::snprintf(text, sizeof text, "<0x%02X>", byte);
      tokens.push_back(text), types.push_back(6), scores.push_back(0);
    }
    for (const char *text : {"\xE2\x96\x81", "a",
                             "\xE2\x96\x81"
                             "a",
                             "<user>"})
      tokens.push_back(text), types.push_back(text[0] == '<' ? 4 : 1), scores.push_back(-1);
    auto numbers = [](uint32_t type, auto &values) {
      std::string bytes = raw(type) + raw(uint64_t(values.size()));
      for (auto value : values)
        bytes += raw(value);
      return bytes;
    };
    std::string texts = raw(uint32_t(8)) + raw(uint64_t(tokens.size()));
    for (const std::string &token : tokens)
      texts += GgufBytes::text(token);
    more.value("general.architecture", 8, GgufBytes::text(architecture))
        .value("tokenizer.ggml.model", 8, GgufBytes::text(kind))
        .value("tokenizer.ggml.tokens", 9, texts)
        .value("tokenizer.ggml.token_type", 9, numbers(5, types))
        .value("tokenizer.ggml.scores", 9, numbers(6, scores))
        .value("tokenizer.ggml.unknown_token_id", 4, raw(uint32_t(0)))
        .value("tokenizer.ggml.bos_token_id", 4, raw(uint32_t(1)));
    auto model = io::ModelFile::open(write("m.gguf", more.bytes()));
    EXPECT_TRUE(model) << model.failure().message();
    models.push_back(model.take());
    return Tokenizer::load(*models.back());
  }
  Ids ids(const Result<std::unique_ptr<Tokenizer>> &tokenizer, const char *text) {
    EXPECT_TRUE(tokenizer) << tokenizer.failure().message();
    auto result = (*tokenizer)->encode(text);
    EXPECT_TRUE(result) << result.failure().message();
    return result ? *result : Ids();
  }
  static constexpr int32_t blank = 258, a = 259, blankA = 260, user = 261;
  std::vector<std::unique_ptr<io::ModelFile>> models;
};
} // namespace

TEST_F(TokenizerGgufPieces, ABlankComesBeforeTheTextAndEachStretchBehindATokenUnlessTheFileSaysNo) {
  auto llama = load("llama", {});
  EXPECT_EQ(ids(llama, "a a"), (Ids{1, blankA, blankA}));
  EXPECT_EQ(ids(llama, " a"), (Ids{1, blank, blankA}));
  EXPECT_EQ(ids(llama, "a<user>a"), (Ids{1, blankA, user, blankA}));
  EXPECT_EQ((*llama)->decode({1, blankA, blankA}), "a a");
  auto without = load("llama", GgufBytes().value("tokenizer.ggml.add_space_prefix", 7, raw(uint8_t(0))));
  EXPECT_EQ(ids(without, "a a"), (Ids{1, a, blankA}));
  EXPECT_EQ((*without)->decode({blankA}), " a");
}

TEST_F(TokenizerGgufPieces, BytesStandForWhatHasNoToken) {
  auto llama = load("llama", {});
  EXPECT_EQ(ids(llama, "a\xC3\xA9"), (Ids{1, blankA, 2 + 0xC3, 2 + 0xA9}));
  EXPECT_EQ((*llama)->decode({blankA, 2 + 0xC3, 2 + 0xA9}), "a\xC3\xA9");
}

TEST_F(TokenizerGgufPieces, ExtraSpacesGoWhereTheFileSaysSo) {
  auto t5 = load("t5", GgufBytes().value("tokenizer.ggml.remove_extra_whitespaces", 7, raw(uint8_t(1))));
  EXPECT_EQ(ids(t5, "  a   a "), (Ids{blankA, blankA}));
  EXPECT_EQ(ids(t5, "a \xE2\x96\x81"),
            Ids{blankA}); // also where a text spells a blank as the vocabulary does
  EXPECT_EQ(ids(load("t5", {}), "a  a"), (Ids{blankA, blank, blankA}));
}

// As llama.cpp reads such files: an end token behind every text, and <unk> behind <pad> and </s>.
TEST_F(TokenizerGgufPieces, OfT5WhatTheFileDoesNotSayIsTheFamilys) {
  GgufBytes end = GgufBytes().value("tokenizer.ggml.eos_token_id", 4, raw(uint32_t(1)));
  EXPECT_EQ(ids(load("t5", end), "a"), (Ids{blankA, 1}));
  EXPECT_EQ(ids(load("llama", end), "a"), (Ids{1, blankA})); // begins with one, and ends with none
  end.value("tokenizer.ggml.add_eos_token", 7, raw(uint8_t(0)));
  EXPECT_EQ(ids(load("t5", end), "a"), Ids{blankA});

  std::string texts = raw(uint32_t(8)) + raw(uint64_t(4)), types = raw(uint32_t(5)) + raw(uint64_t(4)),
              scores = raw(uint32_t(6)) + raw(uint64_t(4));
  for (const char *text : {"<pad>", "</s>", "<unk>", "\xE2\x96\x81"})
    texts += GgufBytes::text(text), scores += raw(-1.0f);
  for (int32_t type : {3, 3, 2, 1})
    types += raw(type);
  GgufBytes small;
  small.value("tokenizer.ggml.model", 8, GgufBytes::text("t5"))
      .value("tokenizer.ggml.tokens", 9, texts)
      .value("tokenizer.ggml.token_type", 9, types)
      .value("tokenizer.ggml.scores", 9, scores);
  auto model = io::ModelFile::open(write("t5.gguf", small.bytes()));
  ASSERT_TRUE(model) << model.failure().message();
  EXPECT_EQ(ids(Tokenizer::load(**model), "z"), (Ids{3, 2}));
}

TEST_F(TokenizerGgufPieces, TokensOfPhi3TakeTheSpaceBehindThem) {
  EXPECT_EQ(ids(load("llama", {}, "phi3"), "<user> \na"), (Ids{1, user, blankA}));
  EXPECT_EQ(ids(load("llama", {}), "<user> a"), (Ids{1, user, blank, blankA}));
}

// Rules on characters: a blank is one of its own, none is put in front, and what has no token is bytes.
TEST_F(TokenizerGgufPieces, Gemma4MergesCharacters) {
  GgufBytes rules;
  const std::string merges = raw(uint32_t(8)) + raw(uint64_t(1)) + GgufBytes::text("\xE2\x96\x81 a");
  rules.value("tokenizer.ggml.merges", 9, merges);
  auto gemma = load("gemma4", rules);
  EXPECT_EQ(ids(gemma, "a a"), (Ids{a, blankA}));
  EXPECT_EQ(ids(gemma, " a  a"), (Ids{blankA, blank, blankA}));
  EXPECT_EQ(ids(gemma, "a\xC3\xA9\n"), (Ids{a, 2 + 0xC3, 2 + 0xA9, 2 + '\n'}));
  EXPECT_EQ(ids(gemma, "a<user> a"), (Ids{a, user, blankA}));
  EXPECT_EQ((*gemma)->decode({1, blankA, user, blank, 2 + 0xC3, 2 + 0xA9, a}), " a<user> \xC3\xA9"
                                                                               "a");
  rules.value("tokenizer.ggml.add_space_prefix", 7, raw(uint8_t(1)));
  auto refused = load("gemma4", rules);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.failure().message().find("add_space_prefix"), std::string::npos);
}

TEST_F(TokenizerGgufPieces, MergesAreTexts) {
  for (const std::string &list : {raw(uint32_t(4)) + raw(uint64_t(1)) + raw(uint32_t(1)),
                                  raw(uint32_t(6)) + raw(uint64_t(1)) + raw(1.0f)}) {
    auto tokenizer = load("gemma4", GgufBytes().value("tokenizer.ggml.merges", 9, list));
    ASSERT_FALSE(tokenizer);
    EXPECT_NE(tokenizer.failure().message().find("tokenizer.ggml.merges"), std::string::npos);
  }
}

TEST_F(TokenizerGguf, WhatIsNotImplementedOrDamagedIsNamed) {
  Parts parts;
  parts.model = "bert";
  expectRefused(parts, "tokenizer model \"bert\" is not implemented");
  parts = {}, parts.merges = {"a b", "ab"};
  expectRefused(parts, "the merge \"ab\" is not two tokens");
  parts = {}, parts.merges = {"b a"};
  expectRefused(parts, "names a token that is not in the vocabulary");
  parts = {}, parts.tokens[1] = "a";
  expectRefused(parts, "the token \"a\" is in the vocabulary twice");
  parts = {}, parts.types.pop_back();
  expectRefused(parts, "token_type");
  auto empty = io::ModelFile::open(write("e.gguf", GgufBytes().bytes()));
  ASSERT_TRUE(empty);
  EXPECT_FALSE(Tokenizer::load(**empty));
}

TEST_F(TokenizerGguf, ABytesThatTheVocabularyLacksIsAnErrorThatNamesIt) {
  auto tokenizer = load({});
  ASSERT_TRUE(tokenizer);
  auto result = (*tokenizer)->encode("ab\x04");
  ASSERT_FALSE(result);
  EXPECT_NE(result.failure().message().find("no token for the byte 0x04"), std::string::npos);
}

TEST_F(TokenizerGguf, SameIdsAsTheTokenizerJsonItWasMadeFrom) {
  auto gguf = io::ModelFile::open(TESSERA_TEST_INPUTS "/tiny-llama/gguf-f16/model.gguf");
  auto folder = io::ModelFile::open(TESSERA_INPUTS "/models/tiny-llama");
  ASSERT_TRUE(gguf && folder);
  auto a = Tokenizer::load(**gguf), b = Tokenizer::load(**folder);
  ASSERT_TRUE(a && b);
  for (const char *text : {"the quick brown fox, don't", "def f(n):\n    return 12345",
                           "\xE4\xB8\xAD\xE6\x96\x87 <|endoftext|>!"})
    EXPECT_EQ(*(*a)->encode(text), *(*b)->encode(text));
  for (int32_t id = 0; id < 389; ++id)
    EXPECT_EQ((*a)->bytes(id), (*b)->bytes(id));
}
