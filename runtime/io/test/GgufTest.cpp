#include "TestFiles.h"

using namespace tessera;
using namespace tessera::io;
using namespace tessera::io::test;

namespace {
enum : uint32_t { U8 = 0, U32 = 4, F32 = 6, Bool = 7, String = 8, Array = 9, U64 = 10 };
class Gguf : public ScratchFolder {
protected:
  void expectFailure(const GgufBytes &file, const std::string &part) {
    std::string message = openFailure(write("m.gguf", file.bytes()));
    EXPECT_NE(message.find(part), std::string::npos) << "wanted: " << part << "\ngave: " << message;
  }
};
} // namespace

TEST_F(Gguf, ReadsMetadataOfEveryKind) {
  GgufBytes file;
  file.value("u", U32, raw(uint32_t(7)))
      .value("i", 5, raw(int32_t(-7)))
      .value("f", F32, raw(0.5f))
      .value("b", Bool, raw(uint8_t(1)));
  file.value("s", String, GgufBytes::text("text")).value("big", U64, raw(UINT64_MAX));
  file.value("as", Array, raw(String + 0u) + raw(uint64_t(2)) + GgufBytes::text("x") + GgufBytes::text(""));
  file.value("ai", Array, raw(uint32_t(5)) + raw(uint64_t(2)) + raw(int32_t(-1)) + raw(int32_t(3)));
  auto model = ModelFile::open(write("m.gguf", file.bytes()));
  ASSERT_TRUE(model) << model.failure().message();
  const ModelFile &m = **model;
  EXPECT_EQ(m.metadata("u")->uintValue(), 7u);
  EXPECT_EQ(m.metadata("i")->intValue, -7);
  EXPECT_EQ(m.metadata("f")->floatValue, 0.5);
  EXPECT_EQ(m.metadata("b")->kind, GgufValue::Kind::Bool);
  EXPECT_EQ(m.metadata("s")->string, "text");
  EXPECT_EQ(m.metadata("big")->uintValue(), UINT64_MAX);
  EXPECT_EQ(m.metadata("as")->strings, (std::vector<std::string_view>{"x", ""}));
  EXPECT_EQ(m.metadata("ai")->ints, (std::vector<int64_t>{-1, 3}));
  EXPECT_EQ(m.metadata("none"), nullptr);
}

TEST_F(Gguf, ReadsNumbersOfEveryWidth) {
  const std::pair<uint32_t, std::string> numbers[] = {{U8, raw(uint8_t(200))},
                                                      {1, raw(int8_t(-2))},
                                                      {2, raw(uint16_t(60000))},
                                                      {3, raw(int16_t(-3))},
                                                      {U32, raw(uint32_t(4e9))},
                                                      {5, raw(int32_t(-5))},
                                                      {F32, raw(0.1f)},
                                                      {Bool, raw(uint8_t(0))},
                                                      {U64, raw(uint64_t(1e18))},
                                                      {11, raw(INT64_MIN)},
                                                      {12, raw(0.1)}};
  const int64_t integers[] = {200, -2, 60000, -3, 4000000000, -5, 0, 0, 1000000000000000000, INT64_MIN, 0};
  GgufBytes file;
  for (const auto &[type, bytes] : numbers) {
    file.value("one" + std::to_string(type), type, bytes);
    file.value("two" + std::to_string(type), Array, raw(type) + raw(uint64_t(2)) + bytes + bytes);
  }
  auto model = ModelFile::open(write("m.gguf", file.bytes()));
  ASSERT_TRUE(model) << model.failure().message();
  for (size_t i = 0; i < std::size(numbers); ++i) {
    const uint32_t type = numbers[i].first;
    const GgufValue &one = *(*model)->metadata("one" + std::to_string(type)),
                    &two = *(*model)->metadata("two" + std::to_string(type));
    if (type == F32 || type == 12) {
      const double value = type == F32 ? double(0.1f) : 0.1;
      EXPECT_EQ(one.floatValue, value);
      EXPECT_EQ(two.floats, (std::vector<double>{value, value}));
      continue;
    }
    EXPECT_EQ(one.intValue, integers[i]) << type;
    EXPECT_EQ(two.ints, (std::vector<int64_t>{integers[i], integers[i]})) << type;
    EXPECT_EQ(two.elementKind, one.kind) << type;
  }
}

TEST_F(Gguf, ShapesAreTurnedRowMajorAndRangesCrossBlocks) {
  GgufBytes file;
  file.tensor("w", {64, 3}, 8, 0); // Q8_0: 3 rows of 64
  std::vector<float> want;
  for (int block = 0; block < 6; ++block) {
    file.data += raw(uint16_t(0x3C00 + block)); // about 1
    for (int i = 0; i < 32; ++i) {
      file.data += char(block * 10 + i);
      want.push_back(halfToFloat(uint16_t(0x3C00 + block)) * float(block * 10 + i));
    }
  }
  auto model = ModelFile::open(write("m.gguf", file.bytes()));
  ASSERT_TRUE(model) << model.failure().message();
  const TensorInfo &tensor = *(*model)->find("w");
  EXPECT_EQ(tensor.shape, (std::vector<int64_t>{3, 64}));
  EXPECT_EQ(tensor.bytes, 6u * 34);
  for (int64_t begin = 0; begin <= 192; begin += 7)
    for (int64_t count : {int64_t(0), int64_t(1), int64_t(20), int64_t(33), 192 - begin}) {
      if (count > 192 - begin)
        continue;
      std::vector<float> out(size_t(count) + 1, -1.0f);
      ASSERT_TRUE((*model)->readRange(tensor, begin, count, out.data()));
      EXPECT_TRUE(std::equal(out.begin(), out.end() - 1, want.begin() + begin)) << begin << " " << count;
      EXPECT_EQ(out.back(), -1.0f);
    }
}

TEST_F(Gguf, TheAlignmentOfTheFileIsUsed) {
  GgufBytes file;
  file.alignment = 128;
  file.value("general.alignment", U32, raw(uint32_t(128))).tensor("a", {1}, 0, 128);
  file.data = std::string(128, 'x') + raw(2.5f);
  auto model = ModelFile::open(write("m.gguf", file.bytes()));
  ASSERT_TRUE(model) << model.failure().message();
  float out = 0;
  ASSERT_TRUE((*model)->readRange(*(*model)->find("a"), 0, 1, &out));
  EXPECT_EQ(out, 2.5f);
  for (uint32_t alignment : {0u, 24u, 1u << 21})
    expectFailure(GgufBytes().value("general.alignment", U32, raw(alignment)), "general.alignment");
}

TEST_F(Gguf, TensorsThatCannotBe) {
  auto one = [](std::vector<uint64_t> dims, uint32_t type, uint64_t offset) {
    GgufBytes file;
    file.tensor("w", dims, type, offset);
    file.data = std::string(64, 0);
    return file;
  };
  expectFailure(one({17}, 0, 0), "tensor w): truncated");
  expectFailure(one({1}, 0, 1u << 30), "tensor w): truncated");
  expectFailure(one({1}, 0, UINT64_MAX - 31), "tensor w): truncated");
  expectFailure(one({1}, 0, 4), "not a multiple of the alignment");
  expectFailure(one({33}, 8, 0), "is impossible for Q8_0");
  expectFailure(one({32}, 12, 0), "is impossible for Q4_K");
  expectFailure(one({256}, 10, 0), "Q2_K is not supported");
  expectFailure(one({32}, 999, 0), "number 999 is not supported");
  expectFailure(one({1, 1, 1, 1, 1}, 0, 0), "5 dimensions");
  expectFailure(one({1ull << 32, 1ull << 32}, 0, 0), "is impossible for F32");
  expectFailure(one({UINT64_MAX}, 0, 0), "is impossible");
  GgufBytes twice = one({1}, 0, 0);
  expectFailure(twice.tensor("w", {1}, 0, 32), "there twice");
  GgufBytes overlapping = one({16}, 0, 0);
  expectFailure(overlapping.tensor("v", {1}, 0, 32), "w and v overlap");
}

TEST_F(Gguf, HeadersThatClaimMoreThanTheFileHolds) {
  GgufBytes many;
  many.tensorCount = UINT64_MAX;
  expectFailure(many, "the table of tensors");
  many.tensorCount = 0, many.valueCount = 1ull << 60;
  expectFailure(many, "the metadata");
  expectFailure(GgufBytes().value("k", String, raw(UINT64_MAX)), "metadata k");
  expectFailure(GgufBytes().value("k", Array, raw(uint32_t(0)) + raw(uint64_t(1) << 62)),
                "more than the file can hold");
  expectFailure(GgufBytes().value("k", Array, raw(uint32_t(U64)) + raw(uint64_t(9)) + std::string(16, 0)),
                "it claims 9 elements, more than the file can hold");
  expectFailure(GgufBytes().value("k", Array, raw(uint32_t(9)) + raw(uint64_t(1))), "not supported");
  // A file of that size may hold them, and memory would have to hold eight times as much.
  GgufBytes half =
      GgufBytes().value("k", Array, raw(uint32_t(0)) + raw(uint64_t(9) << 20) + std::string(9 << 20, 0));
  expectFailure(half.value("l", Array, raw(uint32_t(0)) + raw(uint64_t(9) << 20) + std::string(9 << 20, 0)),
                "metadata l): its 9437184 elements bring the arrays to more than 16777216");
  GgufBytes values;
  values.valueCount = (1 << 20) + 1;
  for (uint64_t i = 0; i < values.valueCount; ++i)
    values.values += raw(uint64_t(4)) + raw(uint32_t(i)) + raw(uint32_t(0)) + "x";
  expectFailure(values, "the metadata): it has more than 1048576 entries");
  expectFailure(GgufBytes().value("k", 77, ""), "unknown value type 77");
  expectFailure(GgufBytes().value("k", Bool, raw(uint8_t(2))), "metadata k");
  expectFailure(GgufBytes().value("k", U8, "1").value("k", U8, "1"), "there twice");
  GgufBytes split;
  expectFailure(split.value("split.count", 2, raw(uint16_t(2))), "split over several GGUF files");
}

TEST_F(Gguf, VersionsAndByteOrder) {
  GgufBytes file;
  for (uint32_t version : {0u, 1u, 4u}) {
    file.version = version;
    expectFailure(file, "GGUF version " + std::to_string(version) + " is not supported");
  }
  file.version = 0x03000000;
  expectFailure(file, "big-endian");
  EXPECT_NE(openFailure(write("short.gguf", "GGUF\3")).find("ends inside"), std::string::npos);
}
