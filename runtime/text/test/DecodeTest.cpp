#include "TestFiles.h"
#include "Unicode.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::text;
using nlohmann::json;

// Ids 0..255 are the bytes, 256 is a special token, 257 an added one that is text.
static std::unique_ptr<Tokenizer> byteTokenizer() {
  json vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    std::string text;
    appendUtf8(alphabetCharacter(uint8_t(byte)), text);
    vocabulary[text] = byte;
  }
  json definition = {{"added_tokens",
                      {{{"id", 256}, {"content", "<end>"}, {"special", true}},
                       {{"id", 257}, {"content", "<br>"}, {"special", false}}}},
                     {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                     {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", json::array()}}}};
  auto tokenizer = Tokenizer::fromJson(definition.dump(), "bytes");
  EXPECT_TRUE(tokenizer) << tokenizer.failure().message();
  return tokenizer.take();
}

static std::vector<int32_t> bytesOf(const std::string &text) {
  std::vector<int32_t> ids;
  for (char c : text)
    ids.push_back(static_cast<uint8_t>(c));
  return ids;
}

TEST(Decode, EveryByteSurvives) {
  auto tokenizer = byteTokenizer();
  for (int32_t byte = 0; byte < 256; ++byte)
    EXPECT_EQ(tokenizer->bytes(byte), std::string(1, char(byte)));
}

TEST(Decode, SpecialTokensAndUnknownIdsPrintNothing) {
  auto tokenizer = byteTokenizer();
  EXPECT_EQ(tokenizer->decode({'a', 256, 'b', 257, -1, 300, 2147483647, 'c'}), "ab<br>c");
  EXPECT_TRUE(tokenizer->isSpecial(256));
  EXPECT_FALSE(tokenizer->isSpecial(257));
  EXPECT_FALSE(tokenizer->isSpecial(-5));
  EXPECT_EQ(tokenizer->bytes(256), "<end>");
}

TEST(Decode, SpecialTokensInsideATextAreParsed) {
  auto tokenizer = byteTokenizer();
  EXPECT_EQ(*tokenizer->encode("a<end><br><en"), (std::vector<int32_t>{'a', 256, 257, '<', 'e', 'n'}));
}

TEST(Decode, CharactersAreHeldBackUntilTheyAreWhole) {
  auto tokenizer = byteTokenizer();
  StreamDecoder decoder(*tokenizer);
  std::string out;
  for (int32_t id : bytesOf("a\xE2\x82\xAC\xF0\x9F\x98\x80")) { // a, euro, a smiling face
    std::string text = decoder.push(id);
    EXPECT_TRUE(isValidUtf8(text));
    out += text;
  }
  EXPECT_EQ(out, "a\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(decoder.flush(), "");
}

TEST(Decode, BytesThatAreNoCharacterBecomeTheReplacementCharacter) {
  auto tokenizer = byteTokenizer();
  const std::string r = replacementCharacter;
  EXPECT_EQ(tokenizer->decode(bytesOf("\xFFx")), r + "x");
  EXPECT_EQ(tokenizer->decode(bytesOf("\xE2\x82x")), r + "x");      // cut short: one for the whole attempt
  EXPECT_EQ(tokenizer->decode(bytesOf("\xC0\x80")), r + r);         // overlong
  EXPECT_EQ(tokenizer->decode(bytesOf("\xED\xA0\x80")), r + r + r); // a surrogate
  EXPECT_EQ(tokenizer->decode(bytesOf("\xF4\x90\x80\x80")), r + r + r + r);
  EXPECT_EQ(tokenizer->decode(bytesOf("a\xF0\x9F\x98")), "a" + r); // the stream ends inside
}

// A blank that may be left out at the end is not at the end where half a character follows.
TEST(Decode, BlanksInFrontOfHalfACharacterStay) {
  json vocabulary = {{"a", 256}, {" ", 257}};
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", byte);
    vocabulary[text] = byte;
  }
  json definition = {
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", json::array()}, {"byte_fallback", true}}},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders",
         {{{"type", "ByteFallback"}},
          {{"type", "Fuse"}},
          {{"type", "Strip"}, {"content", " "}, {"start", 0}, {"stop", 1}}}}}}};
  auto tokenizer = Tokenizer::fromJson(definition.dump(), "blanks");
  ASSERT_TRUE(tokenizer) << tokenizer.failure().message();
  EXPECT_EQ((*tokenizer)->decode({256, 257, 257}), "a ");
  EXPECT_EQ((*tokenizer)->decode({256, 257, 256}), "a a");
  EXPECT_EQ((*tokenizer)->decode({256, 257, 0xE2, 0x82}), std::string("a ") + replacementCharacter);
}

TEST(Decode, TextThatIsNotUtf8IsRefused) {
  auto tokenizer = byteTokenizer();
  for (const char *text : {"\xFF", "a\xC3", "\xED\xA0\x80", "\xC0\x80", "\xF5\x80\x80\x80"})
    EXPECT_FALSE(tokenizer->encode(text)) << text;
  EXPECT_TRUE(tokenizer->encode(""));
}
