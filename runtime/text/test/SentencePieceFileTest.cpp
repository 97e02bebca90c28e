// SentencePiece's own file, put together by hand, and what tokenizer_config.json says beside it.
#include "TestFiles.h"
#include "tessera/runtime/text/Tokenizer.h"

using namespace tessera;
using namespace tessera::text;
using tessera::io::test::raw;

namespace {

using Ids = std::vector<int32_t>;

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7)
    bytes += char(value & 127 | 128);
  return bytes + char(value);
}
std::string number(uint64_t field, int64_t value) { return varint(field << 3) + varint(uint64_t(value)); }
std::string message(uint64_t field, const std::string &bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string piece(const std::string &text, float score, int type) {
  return message(1, message(1, text) + varint(2 << 3 | 5) + raw(score) + number(3, type));
}

#define BLANK "\xE2\x96\x81"
enum : int32_t { unknown, bos, eos, blank, a, blankA, tool };

// <unk>, <s>, </s>, a blank, "a", and both; merged by their scores unless `kind` says Unigram (1).
std::string model(int kind = 2, const std::string &trainer = "", const std::string &normalizer = "") {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece(BLANK, -3, 1) +
         piece("a", -2, 1) + piece(BLANK "a", -1, 1) + message(2, number(3, kind) + trainer) +
         message(3, number(4, 0) + normalizer);
}

Ids ids(const std::string &bytes, const std::string &settings, const char *text) {
  auto tokenizer = Tokenizer::fromSentencePiece(bytes, settings, "m/tokenizer.model");
  EXPECT_TRUE(tokenizer) << tokenizer.failure().message();
  auto result = tokenizer ? (*tokenizer)->encode(text) : Result<Ids>(Ids());
  EXPECT_TRUE(result) << result.failure().message();
  return result ? *result : Ids();
}

void expectRefused(const std::string &bytes, const std::string &settings, const std::string &part) {
  auto tokenizer = Tokenizer::fromSentencePiece(bytes, settings, "m/tokenizer.model");
  const std::string message = tokenizer ? "" : tokenizer.failure().message();
  EXPECT_NE(message.find(part), std::string::npos) << "wanted: " << part << "\ngave: " << message;
}

// Settings with one added token, whose flags are `flags`.
std::string withTool(const std::string &flags, const std::string &more = "") {
  return R"({"added_tokens_decoder": {"6": {"content": "<tool>")" + flags + "}}" + more + "}";
}

} // namespace

// Llama's kind begins a text with BOS, T5's ends it with EOS; settings say otherwise, and a file may have
// none.
TEST(SentencePieceFile, WhatStandsAroundATextFollowsKindAndSettings) {
  EXPECT_EQ(ids(model(2), "", "a"), (Ids{bos, blankA}));
  EXPECT_EQ(ids(model(1), "", "a"), (Ids{blankA, eos}));
  EXPECT_EQ(ids(model(2), R"({"add_bos_token": false, "add_eos_token": true})", "a"), (Ids{blankA, eos}));
  EXPECT_EQ(ids(model(1), R"({"add_bos_token": true, "add_eos_token": null})", "a"), (Ids{bos, blankA, eos}));
  EXPECT_EQ(ids(model(2, number(41, 2)), "", "a"), (Ids{eos, blankA})); // the file says which one it is
  EXPECT_EQ(ids(model(2, number(41, -1)), "", "a"), Ids{blankA});
  expectRefused(model(2, number(41, 99)), "", "the token 99 that is put around texts is missing");
}

// In files of before `legacy` a blank comes before every stretch of text; later before the first one alone.
TEST(SentencePieceFile, ABlankComesBeforeWhatSettingsSay) {
  EXPECT_EQ(ids(model(), withTool(""), "a<tool>a"), (Ids{bos, blankA, tool, blankA}));
  EXPECT_EQ(ids(model(), withTool("", R"(, "legacy": false)"), "a<tool>a"), (Ids{bos, blankA, tool, a}));
  EXPECT_EQ(ids(model(), withTool("", R"(, "legacy": false)"), "<tool>a"), (Ids{bos, tool, a}));
  EXPECT_EQ(ids(model(), withTool("", R"(, "add_prefix_space": false)"), "a<tool>a"), (Ids{bos, a, tool, a}));
  EXPECT_EQ(ids(model(2, "", number(3, 0)), withTool(""), "a<tool>a"), (Ids{bos, a, tool, a}));
}

TEST(SentencePieceFile, AddedTokensTakeWhatTheySayThatTheyDo) {
  const std::string bare = R"(, "add_prefix_space": false)";
  EXPECT_EQ(ids(model(), withTool("", bare), "a <tool> a"), (Ids{bos, a, blank, tool, blankA}));
  EXPECT_EQ(ids(model(), withTool(R"(, "rstrip": true)", bare), "a <tool> a"), (Ids{bos, a, blank, tool, a}));
  EXPECT_EQ(ids(model(), withTool(R"(, "lstrip": true)", bare), "a <tool> a"), (Ids{bos, a, tool, blankA}));
  // Within a word it is text like all other.
  EXPECT_EQ(ids(model(), withTool(R"(, "single_word": true)", bare), "a<tool>a"),
            ids(model(), R"({"add_prefix_space": false})", "a<tool>a"));
  for (bool special : {false, true}) {
    const std::string settings = withTool(special ? R"(, "special": true)" : "");
    auto tokenizer = Tokenizer::fromSentencePiece(model(), settings, "m/tokenizer.model");
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ((*tokenizer)->isSpecial(tool), special);
    EXPECT_EQ((*tokenizer)->decode({blankA, tool, blankA}), special ? "a a" : "a<tool> a");
  }
}

TEST(SentencePieceFile, SettingsThatAreDamagedAreNamed) {
  for (const char *settings : {"[]", "3"})
    expectRefused(model(), settings, "(m/tokenizer_config.json): it is damaged");
  expectRefused(model(), "{", "m/tokenizer_config.json");
  for (const char *flag : {"add_bos_token", "add_eos_token", "legacy", "add_prefix_space"})
    expectRefused(model(), std::string("{\"") + flag + "\": 1}", std::string("\"") + flag + "\" is damaged");
  for (const char *entry : {R"("x": {"content": "<tool>"})", R"("": {"content": "<tool>"})", R"("6": {})",
                            R"("6": 3)", R"("6": {"content": 3})", R"("4294967302": {"content": "<tool>"})"})
    expectRefused(model(), std::string(R"({"added_tokens_decoder": {)") + entry + "}}",
                  "an entry of \"added_tokens_decoder\" is damaged");
  expectRefused(model(), R"({"added_tokens_decoder": []})", "\"added_tokens_decoder\" is damaged");
}

TEST(SentencePieceFile, WhatIsNoModelOrNotImplementedIsRefused) {
  for (const std::string &bytes :
       {std::string(), std::string("\xFF"), std::string("\x0B"), message(1, "\xFF"),
        model() + piece("b", 0, 0), model() + piece("b", 0, 7), model() + "\x0A\x05",
        model() + message(1, message(1, "b") + "\x15\x01"), message(2, number(3, 2))})
    expectRefused(bytes, "", "it is not a SentencePiece model");
  expectRefused(model(3), "", "the model type 3 is not implemented");
  expectRefused(model(2, number(24, 1)), "", "treat_whitespace_as_suffix is not implemented");
  expectRefused(model(2, "", number(5, 0)), "", "escape_whitespaces=false is not implemented");
  EXPECT_EQ(ids(model(2, number(24, 0), number(5, 1)), "", "a"), (Ids{bos, blankA}));
  expectRefused(model() + piece("ab", std::numeric_limits<float>::quiet_NaN(), 1), "",
                "a score is not a number");
}
