// Files of tokens: each format read, each fault one line.
#include "tessera/runtime/data/TokenRows.h"
#include "TestFiles.h"
#include "tessera/runtime/io/SafetensorsWriter.h"

using namespace tessera;
using namespace tessera::data;
using io::test::raw;

namespace {

class TokenRowsTest : public io::test::ScratchFolder {
protected:
  std::string table(const std::string &name, const std::vector<int32_t> &ids, int64_t rows, int64_t width) {
    EXPECT_TRUE(io::writeSafetensors(path(name), {{"tokens", io::DType::I32, {rows, width}, ids.data()}}));
    return path(name);
  }
  template <typename Id> std::string stream(const std::vector<int64_t> &ids) {
    std::string bytes;
    for (int64_t id : ids)
      bytes += raw(Id(id));
    return bytes;
  }
  std::string header(uint32_t magic, uint32_t version, uint32_t count) {
    std::string bytes = raw(magic) + raw(version) + raw(count);
    bytes.resize(1024);
    return bytes;
  }
  static std::string why(const std::string &path, int64_t sequence = 4, int64_t vocabulary = 100) {
    auto rows = TokenRows::open(path, sequence, vocabulary);
    return rows ? "" : rows.failure().message();
  }
  static std::vector<int32_t> row(const TokenRows &rows, int64_t r) {
    std::vector<int32_t> ids(size_t(rows.sequence()) + 1);
    Status status = rows.read(r, ids.data());
    EXPECT_TRUE(status) << status.failure().message();
    return ids;
  }
};
using Ids = std::vector<int32_t>;

TEST_F(TokenRowsTest, TablesHaveShortRows) {
  auto rows = TokenRows::open(
      table("t.safetensors", {1, 2, 3, 4, 5, 6, 7, 8, -1, -1, 9, -1, -1, -1, -1, -1, -1, -1, -1, -1}, 4, 5),
      4, 100);
  ASSERT_TRUE(rows) << rows.failure().message();
  EXPECT_EQ((*rows)->rows(), 4);
  EXPECT_EQ(row(**rows, 0), (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(row(**rows, 1), (Ids{6, 7, 8, -1, -1}));
  EXPECT_EQ((*rows)->length(0), 5);
  EXPECT_EQ((*rows)->length(1), 3);
  EXPECT_EQ((*rows)->length(2), 1);
  EXPECT_EQ((*rows)->length(3), 0);
  EXPECT_EQ((*rows)->targets(0), 4);
  EXPECT_EQ((*rows)->targets(1), 2);
  EXPECT_EQ((*rows)->targets(2), 0);
  EXPECT_EQ((*rows)->targets(3), 0);
}

TEST_F(TokenRowsTest, StreamsOverlapByOneAndDropTheRest) {
  for (const auto &[name, bytes] : std::map<std::string, std::string>{
           {"bare.bin", stream<uint16_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 65})},
           {"gpt2.bin", header(20240520, 1, 11) + stream<uint16_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 65})},
           {"llama.bin", header(20240801, 7, 11) + stream<uint32_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 65})}}) {
    auto rows = TokenRows::open(write(name, bytes), 4, 100);
    ASSERT_TRUE(rows) << rows.failure().message();
    EXPECT_EQ((*rows)->rows(), 2) << name;
    EXPECT_EQ(row(**rows, 0), (Ids{0, 1, 2, 3, 4})) << name;
    EXPECT_EQ(row(**rows, 1), (Ids{4, 5, 6, 7, 8})) << name;
    EXPECT_EQ((*rows)->targets(1), 4);
  }
  // One more id makes one more row.
  auto rows = TokenRows::open(write("more.bin", stream<uint16_t>({0, 1, 2, 3, 4, 5, 6, 7, 8})), 4, 100);
  ASSERT_TRUE(rows);
  EXPECT_EQ((*rows)->rows(), 2);
}

TEST_F(TokenRowsTest, LargeIdsAreRead) {
  auto narrow = TokenRows::open(write("n.bin", stream<uint16_t>({65535, 50256, 40000})), 2, 65536);
  ASSERT_TRUE(narrow) << narrow.failure().message();
  EXPECT_EQ(row(**narrow, 0), (Ids{65535, 50256, 40000}));
  auto wide = TokenRows::open(write("w.bin", header(20240801, 7, 3) + stream<uint32_t>({128255, 70000, 1})),
                              2, 128256);
  ASSERT_TRUE(wide) << wide.failure().message();
  EXPECT_EQ(row(**wide, 0), (Ids{128255, 70000, 1}));
}

TEST_F(TokenRowsTest, IdsOutsideTheVocabularyAreNamed) {
  EXPECT_EQ(why(table("t.safetensors", {1, 2, 3, 4, 5, 6, 7, 100, 8, 9}, 2, 5)),
            "cannot read data (" + path("t.safetensors") +
                ", row 1, column 2): id 100 is outside the vocabulary of 100; tokenize the text with the "
                "model's tokenizer");
  EXPECT_NE(why(table("n.safetensors", {1, -2, 3, 4, 5}, 1, 5)).find("row 0, column 1): id -2"),
            std::string::npos);
  EXPECT_NE(why(table("a.safetensors", {1, -1, 3, 4, 5}, 1, 5))
                .find("row 0, column 2): id 3 follows -1, which ends a row"),
            std::string::npos);
  EXPECT_NE(why(write("b.bin", stream<uint16_t>({0, 1, 2, 3, 4, 5, 6, 7, 100}))).find("row 1, column 4"),
            std::string::npos);
  // In a stream there is no -1.
  EXPECT_NE(why(write("m.bin", header(20240801, 7, 5) + stream<uint32_t>({0, 1, -1, -1, -1})))
                .find("id 4294967295"),
            std::string::npos);
}

TEST_F(TokenRowsTest, EveryFaultIsOneLine) {
  Ids ids(10, 1);
  std::vector<float> floats(10, 1);
  ASSERT_TRUE(
      io::writeSafetensors(path("f.safetensors"), {{"tokens", io::DType::F32, {2, 5}, floats.data()}}));
  ASSERT_TRUE(io::writeSafetensors(path("o.safetensors"), {{"ids", io::DType::I32, {2, 5}, ids.data()}}));
  ASSERT_TRUE(io::writeSafetensors(path("r.safetensors"), {{"tokens", io::DType::I32, {10}, ids.data()}}));
  std::filesystem::create_directory(path("folder"));
  std::map<std::string, std::string> cases = {
      {table("w.safetensors", ids, 1, 10), "its rows have 10 ids, the program takes 5, one more than its "
                                           "sequence length; compile with --max-seq-len=9"},
      {table("e.safetensors", ids, 0, 5), "it has no row"},
      {path("f.safetensors"), "`tokens` is of type F32"},
      {path("o.safetensors"), "it has no tensor `tokens`"},
      {path("r.safetensors"), "`tokens` has the shape [10]"},
      {write("x.safetensors", "no table of tensors"), "not a safetensors file"},
      {write("e.bin", ""), "it is empty"},
      {write("s.bin", stream<uint16_t>({1, 2, 3, 4})), "it has 4 ids, a row takes 5; give more text, or"},
      {write("odd.bin", "abcdefghijk"), "its 11 bytes are no whole number of 16-bit ids"},
      {write("v.bin", header(20240520, 3, 5) + stream<uint16_t>({1, 2, 3, 4, 5})), "version 3; version 1"},
      {write("c.bin", header(20240520, 1, 6) + stream<uint16_t>({1, 2, 3, 4, 5})), "its header says 6 ids"},
      {write("cut.bin", header(20240801, 7, 5).substr(0, 100)), "its header says 5 ids"},
      {path("folder"), "not a regular file; give a .safetensors file with `tokens`"},
      {path("none.bin"), "No such file"}};
  for (const auto &[file, expected] : cases) {
    std::string message = why(file);
    EXPECT_NE(message.find(expected), std::string::npos) << message;
    EXPECT_EQ(message.rfind("cannot read data (" + file, 0), 0u) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST_F(TokenRowsTest, AFileThatShrinksIsAFailure) {
  std::string file = write("b.bin", stream<uint16_t>(std::vector<int64_t>(5000, 1)));
  auto rows = TokenRows::open(file, 4, 100);
  ASSERT_TRUE(rows);
  std::filesystem::resize_file(file, 10);
  Ids ids(5);
  Status status = (*rows)->read(1000, ids.data());
  ASSERT_FALSE(status);
  EXPECT_NE(status.failure().message().find("the file changed while it was in use"), std::string::npos);
}

} // namespace
