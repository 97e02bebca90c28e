// What of a file's tensors a rank writes, and what makes a file that cannot be put together.
#include "TestRun.h"
#include "tessera/runtime/core/ShardReader.h"

using namespace tessera;
using namespace tessera::checkpoint;
using namespace tessera::checkpoint::test;

namespace {

class LayoutTest : public io::test::ScratchFolder {
protected:
  std::string bytesOn(const Mesh &mesh, const std::vector<ParamSpec> &params) {
    Status status = TrainingRun{mesh, {{"model.safetensors", params}}}.save(path("run"), 1, 1);
    EXPECT_TRUE(status) << status.failure().message();
    return io::test::readBytes(path("run/step-1/model.safetensors"));
  }
  static std::string why(const std::vector<ParamSpec> &params) {
    auto layout = layoutOf(params);
    return layout ? "" : layout.failure().message();
  }
};

TEST_F(LayoutTest, TensorsAreThoseOfTheModelsFile) {
  Status status = onOneRank().save(path("run"), 1, 1);
  ASSERT_TRUE(status) << status.failure().message();
  auto model = io::ModelFile::open(path("run/step-1"));
  ASSERT_TRUE(model) << model.failure().message();
  auto at = [&](const std::string &name, int64_t element) {
    uint32_t bits;
    std::memcpy(&bits, (*model)->find(name)->data + element * 4, 4);
    return bits;
  };
  EXPECT_EQ((*model)->tensors().size(), 3u + 3 * 5);
  EXPECT_EQ((*model)->find("h.1.up")->shape, (Shape{6, 8}));
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t o = 0; o < 8; ++o)
      EXPECT_EQ(at("h.1.up", i * 8 + o), bitsOf(2, 1, o * 6 + i, 1)); // stored input-major
  for (int64_t row = 0; row < 6; ++row)
    for (int64_t c = 0; c < 6; ++c) {
      EXPECT_EQ(at("h.2.qkv", row * 6 + c), bitsOf(3, 2, row * 6 + c, 1));
      EXPECT_EQ(at("h.2.qkv", (6 + row) * 6 + c), bitsOf(4, 2, row * 6 + c, 1));
      EXPECT_EQ(at("h.2.qkv", (12 + row) * 6 + c), bitsOf(5, 2, c * 6 + row, 1));
    }
  for (int64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(at("h.0.a", i), bitsOf(6, 0, i, 1));
    EXPECT_EQ(at("h.0.b", i), bitsOf(6, 0, 30 + i, 1));
  }
}

// One file, whoever writes it.
TEST_F(LayoutTest, TheFileDoesNotDependOnTheMesh) {
  for (io::DType dtype : {io::DType::F32, io::DType::BF16}) {
    const std::vector<ParamSpec> params = modelParams(dtype);
    const std::string expected = bytesOn(Mesh(), params);
    const runtime::AxisList tp2 = {{"tp", 1, 2}}, tp3 = {{"tp", 1, 3}}, dp2 = {{"dp", 1, 2}};
    EXPECT_EQ(bytesOn(Mesh({{"tp", 2}}), sharded(params, tp2)), expected);
    EXPECT_EQ(bytesOn(Mesh({{"tp", 3}}), sharded(params, {}, tp3)), expected);
    EXPECT_EQ(bytesOn(Mesh({{"tp", 4}}), sharded(params, {{"tp", 1, 4}})), expected);
    EXPECT_EQ(bytesOn(Mesh({{"dp", 2}, {"tp", 3}}), sharded(params, tp3, dp2)), expected);
    EXPECT_EQ(bytesOn(Mesh({{"dp", 2}, {"tp", 2}}), sharded(params, {{"dp", 1, 2}, {"tp", 1, 2}})), expected);
    EXPECT_EQ(bytesOn(Mesh({{"dp", 3}}), params), expected); // copies share the writing
    EXPECT_EQ(bytesOn(Mesh({{"x", 4}}), sharded(params, {{"x", 2, 2}}, {{"x", 1, 2}})), expected);
    // Stages of a pipeline hold layers of their own; copies of a stage share the writing.
    for (const auto &[mesh, of] : {std::pair(Mesh({{"pp", 2}, {"tp", 2}}), sharded(params, tp2)),
                                   std::pair(Mesh({{"dp", 2}, {"pp", 2}}), params)}) {
      const State stages = inStages({"model.safetensors", of}, {{"pp", 1, 2}});
      TrainingRun run{mesh, {stages}};
      ASSERT_TRUE(run.save(path("stages"), 1, 1));
      EXPECT_EQ(io::test::readBytes(path("stages/step-1/model.safetensors")), expected);
    }
  }
}

// What any other mesh reads back is what it would hold.
TEST_F(LayoutTest, PiecesAreReadBackOnAnyMesh) {
  bytesOn(Mesh({{"tp", 3}}), sharded(modelParams(), {{"tp", 1, 3}}));
  auto save = Checkpoint::open(path("run"));
  ASSERT_TRUE(save) << save.failure().message();
  for (const auto &[mesh, params] :
       {std::pair(Mesh(), modelParams()),
        std::pair(Mesh({{"dp", 2}, {"tp", 2}}), sharded(modelParams(), {{"tp", 1, 2}}, {{"dp", 1, 2}})),
        std::pair(Mesh({{"tp", 5}}), sharded(modelParams(), {{"tp", 1, 5}}))})
    for (int64_t rank = 0; rank < mesh.size(); ++rank)
      for (size_t p = 0; p < params.size(); ++p)
        for (int64_t layer = 0; layer < std::max<int64_t>(params[p].layers, 1); ++layer) {
          runtime::ShardReader reader(params[p], std::min<int64_t>(1, int64_t(params[p].shape.size())), mesh,
                                      rank, *(*save)->file("model.safetensors"));
          std::vector<uint32_t> got(size_t(reader.rows() * reader.columns()));
          reader.readAs(io::DType::F32, layer, 0, reader.rows(), got.data());
          std::vector<char> expected = pieceOf(params[p], p, layer, 1, mesh, rank);
          for (size_t i = 0; i < got.size(); ++i) {
            uint32_t bits;
            std::memcpy(&bits, expected.data() + i * 4, 4);
            EXPECT_EQ(got[i], bits == 0x7fc07fc0u ? 0 : bits) << params[p].name << " " << i;
          }
        }
}

// A write for each stretch of the file, not for each element.
TEST_F(LayoutTest, RunsAreAsLongAsTheShapesAllow) {
  auto runs = [](const ParamSpec &p, const Mesh &mesh) { return SourcePieces(p, 0, mesh, 0).runs(); };
  const std::vector<ParamSpec> params = modelParams();
  EXPECT_EQ(runs(params[0], Mesh()), 7); // rows, put together when written
  EXPECT_EQ(runs(params[2], Mesh()), 6); // the file's rows are our columns
  EXPECT_EQ(runs(sharded(params, {{"tp", 1, 2}})[2], Mesh({{"tp", 2}})), 6);     // half rows of the file
  EXPECT_EQ(runs(sharded(params, {}, {{"tp", 1, 2}})[2], Mesh({{"tp", 2}})), 3); // three whole rows
  EXPECT_EQ(runs(sharded(params, {{"tp", 1, 2}})[7], Mesh({{"tp", 2}})), 1);     // 12 of 24 elements
}

TEST_F(LayoutTest, TensorsThatCannotBePutTogetherAreRefused) {
  std::vector<ParamSpec> params = modelParams();
  EXPECT_EQ(why(params), "");
  params.erase(params.begin() + 4);
  EXPECT_EQ(why(params), "cannot save checkpoint (tensor h.0.qkv): the program holds 72 of its 108 elements; "
                         "this is a mistake of the program; report it");
  params = modelParams();
  params.push_back(params[0]);
  EXPECT_NE(why(params).find("two parameters hold the same elements of it"), std::string::npos);
  params = modelParams();
  params[4].sources[0].slice[0] = {0, 1}; // k where q is: the sum would be right
  EXPECT_NE(why(params).find("two parameters hold the same elements of it"), std::string::npos);
  // The same of reshapes that differ: importers keep dimensions of size 1 and glue or part others.
  params = modelParams();
  params[4].sources[0] = source("h.{}.qkv", {18, 6}, {3, 1, 6, 6}, {{1, 2}}, {0, 2, 1, 3});
  EXPECT_EQ(why(params), "");
  params[4].sources[0].slice[0] = {0, 1};
  EXPECT_NE(why(params).find("two parameters hold the same elements of it"), std::string::npos);
  params[4].sources[0] = source("h.{}.qkv", {18, 6}, {18, 6}, {{6, 12}});
  EXPECT_EQ(why(params), "");
  params[4].sources[0].slice[0] = {7, 13};
  EXPECT_NE(why(params).find("two parameters hold the same elements of it"), std::string::npos);
  params = modelParams();
  params[3].dtype = io::DType::BF16;
  EXPECT_NE(why(params).find("tensor h.0.qkv): it cannot be of the type"), std::string::npos);
  params = modelParams();
  params[3].sources[0].shape = {6, 18};
  EXPECT_NE(why(params).find("it has the shapes [6, 18] and [18, 6]"), std::string::npos);
}

// Ranks add up their parts; every element and its place count.
TEST_F(LayoutTest, PlaceSumsAddUp) {
  std::vector<uint32_t> values = {5, 7, 7, 9, 0, 1, 2, 3};
  uint64_t whole = placeSum(0, values.data(), 8, 4);
  EXPECT_EQ(placeSum(0, values.data(), 3, 4) + placeSum(3, values.data() + 3, 5, 4), whole);
  for (size_t i = 0; i < values.size(); ++i)
    for (int bit = 0; bit < 32; ++bit) {
      values[i] ^= 1u << bit;
      EXPECT_NE(placeSum(0, values.data(), 8, 4), whole);
      values[i] ^= 1u << bit;
    }
  std::swap(values[0], values[3]);
  EXPECT_NE(placeSum(0, values.data(), 8, 4), whole);
}

} // namespace
