#include "TestFiles.h"

using namespace tessera;
using namespace tessera::io;
using namespace tessera::io::test;

namespace {
// A folder whose weights are MXFP4 with the scales in a tensor of their own.
class BlocksApart : public ScratchFolder {
protected:
  // `blocks` of shape `shape`, and as many `scales` of shape `scaleShape`.
  void writeModel(const std::string &shape, const std::string &blocks, const std::string &scaleShape,
                  const std::string &scales) {
    write("config.json", "{}");
    std::string end = std::to_string(blocks.size()), all = std::to_string(blocks.size() + scales.size());
    write("model.safetensors",
          safetensors(R"({"w_blocks":{"dtype":"U8","shape":)" + shape + R"(,"data_offsets":[0,)" + end +
                          R"(]},"w_scales":{"dtype":"U8","shape":)" + scaleShape + R"(,"data_offsets":[)" +
                          end + "," + all + "]}}",
                      blocks + scales));
  }
};

// 16 bytes whose nibbles count up from `first`, the low one of a byte before its high one.
std::string counting(int first) {
  std::string bytes;
  for (int i = 0; i < 16; ++i)
    bytes += char((first + 2 * i) % 16 | (first + 2 * i + 1) % 16 << 4);
  return bytes;
}
// What the nibbles mean.
constexpr float values[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
} // namespace

TEST_F(BlocksApart, NibblesOfAByteAreNeighbours) {
  writeModel("[2,1,16]", counting(0) + counting(3), "[2,1]", {char(128), char(126)});
  auto model = ModelFile::open(folder);
  ASSERT_TRUE(model) << model.failure().message();
  ASSERT_EQ((*model)->tensors().size(), 1u);
  const TensorInfo *tensor = (*model)->find("w_blocks");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->dtype, DType::MXFP4);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 32}));
  EXPECT_EQ(tensor->elements, 64);
  // From inside the first block into the second.
  std::vector<float> out(40);
  ASSERT_TRUE((*model)->readRange(*tensor, 7, 40, out.data()));
  for (int i = 0; i < 40; ++i) {
    int at = i + 7;
    EXPECT_EQ(out[size_t(i)], at < 32 ? 2 * values[at % 16] : values[(at - 32 + 3) % 16] / 2) << at;
  }
  EXPECT_FALSE((*model)->readRange(*tensor, 60, 5, out.data()));
  auto alone = ModelFile::open(path("model.safetensors"));
  ASSERT_TRUE(alone) << alone.failure().message();
  EXPECT_EQ((*alone)->find("w_blocks")->shape, tensor->shape);
}

TEST_F(BlocksApart, ShapesThatContradictEachOther) {
  for (auto [shape, scales] : {std::pair{"[2,1,16]", "[1,2]"}, {"[2,16]", "[2,1]"}, {"[32]", "[2]"}}) {
    writeModel(shape, counting(0) + counting(0), scales, {char(127), char(127)});
    EXPECT_NE(openFailure(folder).find("tensor w_blocks): its shape"), std::string::npos)
        << openFailure(folder);
  }
  writeModel("[4,8]", counting(0) + counting(0), "[4]", {char(127), char(127), char(127), char(127)});
  EXPECT_NE(openFailure(folder).find("with 16 behind"), std::string::npos);
}

// Beside a size of zero nothing bounds the others: 2^58 blocks would be 2^63 elements.
TEST_F(BlocksApart, SizesBesideZeroAreCountedToo) {
  writeModel("[0,288230376151711744,16]", "", "[0,288230376151711744]", "");
  EXPECT_NE(openFailure(folder).find("its shape [0, 288230376151711744, 16] is impossibly large"),
            std::string::npos)
      << openFailure(folder);
}

// Bytes with such a name alone are what they were.
TEST_F(BlocksApart, BlocksWithoutScalesStayBytes) {
  write("config.json", "{}");
  write("model.safetensors",
        safetensors(R"({"w_blocks":{"dtype":"U8","shape":[1,16],"data_offsets":[0,16]}})", counting(0)));
  auto model = ModelFile::open(folder);
  ASSERT_TRUE(model) << model.failure().message();
  EXPECT_EQ((*model)->find("w_blocks")->dtype, DType::U8);
}
