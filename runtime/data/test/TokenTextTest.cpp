// Texts: tokenized once, found again, and again tokenized when text or tokenizer are others.
#include "tessera/runtime/data/TokenText.h"
#include "TestFiles.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <fstream>
#include <iterator>
#include <sys/stat.h>

using namespace tessera;
using namespace tessera::data;

namespace {

class TokenTextTest : public io::test::ScratchFolder {
protected:
  void SetUp() override {
    ScratchFolder::SetUp();
    std::filesystem::create_directory(path("texts"));
    auto opened = io::ModelFile::open(TESSERA_MODELS "/tiny-llama");
    ASSERT_TRUE(opened) << opened.failure().message();
    model = opened.take();
  }
  std::vector<std::string> kept(const std::string &where) const {
    std::vector<std::string> names;
    if (std::filesystem::is_directory(path(where)))
      for (const auto &entry : std::filesystem::directory_iterator(path(where)))
        if (entry.path().extension() == ".bin")
          names.push_back(entry.path().string());
    return names;
  }
  std::unique_ptr<io::ModelFile> model;
  const std::string text = "It was the best of times, it was the worst of times.\n\nCall me Ishmael.\n";
};

TEST_F(TokenTextTest, GivesTheTokenizersIds) {
  std::string file = write("texts/a.txt", text);
  auto rows = openTokens(file, 4, 389, *model, path("cache"));
  ASSERT_TRUE(rows) << rows.failure().message();
  auto tokenizer = text::Tokenizer::load(*model);
  ASSERT_TRUE(tokenizer);
  auto ids = (*tokenizer)->encode(text);
  ASSERT_TRUE(ids);
  ASSERT_EQ((*rows)->rows(), int64_t(ids->size() - 1) / 4);
  std::vector<int32_t> row(5);
  for (int64_t r = 0; r < (*rows)->rows(); ++r) {
    ASSERT_TRUE((*rows)->read(r, row.data()));
    EXPECT_EQ(row, std::vector<int32_t>(ids->begin() + r * 4, ids->begin() + r * 4 + 5));
  }
}

TEST_F(TokenTextTest, IsTokenizedOnce) {
  std::string file = write("texts/a.txt", text);
  auto first = tokenizeFile(file, *model, path("cache"));
  ASSERT_TRUE(first) << first.failure().message();
  EXPECT_EQ(kept("texts"), std::vector<std::string>{*first});
  struct stat before, after;
  ASSERT_EQ(stat(first->c_str(), &before), 0);
  auto second = tokenizeFile(file, *model, path("cache"));
  ASSERT_TRUE(second);
  EXPECT_EQ(*first, *second);
  ASSERT_EQ(stat(second->c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino); // not written again
}

// What was kept and is no longer whole is made again.
TEST_F(TokenTextTest, DamagedIdsAreNotBelieved) {
  std::string file = write("texts/a.txt", text);
  auto first = tokenizeFile(file, *model, path("cache"));
  ASSERT_TRUE(first) << first.failure().message();
  auto contents = [&] {
    std::ifstream in(*first, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string whole = contents();
  std::string other = whole;
  other[1024 + 8] ^= 1;
  for (const std::string &damaged :
       {std::string(), whole.substr(0, 100), whole.substr(0, whole.size() - 4), whole + "1234", other}) {
    std::ofstream(*first, std::ios::binary) << damaged;
    ASSERT_TRUE(tokenizeFile(file, *model, path("cache")));
    EXPECT_EQ(contents(), whole);
  }
}

TEST_F(TokenTextTest, AnotherTextOrTokenizerIsTokenizedAgain) {
  auto first = tokenizeFile(write("texts/a.txt", text), *model, path("cache"));
  auto changed = tokenizeFile(write("texts/a.txt", text + "!"), *model, path("cache"));
  ASSERT_TRUE(first && changed);
  EXPECT_NE(*first, *changed);
  std::filesystem::create_directory(path("other"));
  std::string json = io::test::readBytes(TESSERA_MODELS "/tiny-llama/tokenizer.json");
  write("other/tokenizer.json", json + " ");
  write("other/config.json", "{}");
  auto other = io::ModelFile::open(path("other"));
  ASSERT_TRUE(other) << other.failure().message();
  auto again = tokenizeFile(path("texts/a.txt"), **other, path("cache"));
  ASSERT_TRUE(again) << again.failure().message();
  EXPECT_NE(*again, *changed);
  EXPECT_EQ(kept("texts").size(), 3u);
}

// A SentencePiece model of <unk>, <s>, </s> and one letter; and what is put around texts.
TEST_F(TokenTextTest, SentencePieceAndItsSettingsDecideToo) {
  std::filesystem::create_directory(path("pieces"));
  write("pieces/config.json", "{}");
  auto made = [&](const std::string &letter, const std::string &settings) {
    std::string bytes("\n\x09\n\x05<unk>\x18\x02\n\x07\n\x03<s>\x18\x03\n\x08\n\x04</s>\x18\x03\n\x03\n\x01",
                      34);
    write("pieces/tokenizer.model", bytes + letter + std::string("\x12\x02\x18\x02"));
    write("pieces/tokenizer_config.json", settings);
    auto pieces = io::ModelFile::open(path("pieces"));
    EXPECT_TRUE(pieces) << pieces.failure().message();
    auto file = tokenizeFile(write("texts/p.txt", "ab"), **pieces, path("cache"));
    EXPECT_TRUE(file) << file.failure().message();
    return file ? *file : "";
  };
  std::string first = made("a", "{}");
  EXPECT_EQ(first, made("a", "{}"));
  EXPECT_NE(first, made("b", "{}"));
  EXPECT_NE(first, made("a", R"({"add_bos_token": false})"));
}

TEST_F(TokenTextTest, WhereTheTextLiesMayBeReadOnly) {
  std::string file = write("texts/a.txt", text);
  // Root may write anywhere: a folder of the name stands in the way instead.
  auto first = tokenizeFile(file, *model, path("cache"));
  ASSERT_TRUE(first);
  std::string name = std::filesystem::path(*first).filename().string();
  std::filesystem::remove(*first);
  std::filesystem::create_directories(path("texts/" + name + "/in-the-way"));
  auto cached = tokenizeFile(file, *model, path("cache/deeper"));
  ASSERT_TRUE(cached) << cached.failure().message();
  EXPECT_EQ(*cached, path("cache/deeper/" + name));
  auto found = tokenizeFile(file, *model, path("cache/deeper"));
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, *cached);
  auto nowhere = tokenizeFile(file, *model, "");
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.failure().message().find("set XDG_CACHE_HOME to a folder that may be written"),
            std::string::npos);
}

TEST_F(TokenTextTest, EveryFaultIsOneLine) {
  auto why = [&](const std::string &file, const io::ModelFile &of) {
    auto rows = openTokens(file, 4, 389, of, path("cache"));
    return rows ? "" : rows.failure().message();
  };
  EXPECT_EQ(why(write("texts/e.txt", ""), *model),
            "cannot read data (" + path("texts/e.txt") + "): it is empty; give a text");
  EXPECT_NE(why(write("texts/b.txt", "\xff\xfe"), *model).find("the text is not valid UTF-8"),
            std::string::npos);
  EXPECT_NE(why(path("texts"), *model).find("not a regular file"), std::string::npos);
  // Of the text, not of the file that keeps its ids.
  EXPECT_EQ(why(write("texts/s.txt", "a"), *model),
            "cannot read data (" + path("texts/s.txt") +
                "): it has 1 ids, a row takes 5; give more text, or compile with a smaller --max-seq-len");
  write("config.json", "{}");
  auto bare = io::ModelFile::open(folder);
  ASSERT_TRUE(bare);
  EXPECT_NE(why(write("texts/t.txt", text), **bare)
                .find("the model has no tokenizer.json and no tokenizer.model; give token ids in"),
            std::string::npos);
}

} // namespace
