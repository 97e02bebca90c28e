#include "TestFiles.h"

using namespace tessera;
using namespace tessera::io;
using namespace tessera::io::test;

namespace {
class Safetensors : public ScratchFolder {
protected:
  std::string failureOf(const std::string &header, const std::string &data) {
    return openFailure(write("m.safetensors", safetensors(header, data)));
  }
  void expectFailure(const std::string &header, const std::string &data, const std::string &part) {
    std::string message = failureOf(header, data);
    EXPECT_NE(message.find(part), std::string::npos) << header << "\ngave: " << message;
  }
};
} // namespace

TEST_F(Safetensors, ReadsATableInTheOrderOfTheFile) {
  std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("a":{"shape":[],"data_offsets":[16,18],"dtype":"BF16"}}  )";
  std::string data = raw(1.0f) + raw(2.0f) + raw(3.0f) + raw(4.0f) + raw(uint16_t(0x4040));
  auto model = ModelFile::open(write("m.safetensors", safetensors(header, data)));
  ASSERT_TRUE(model) << model.failure().message();
  ASSERT_EQ((*model)->tensors().size(), 2u);
  EXPECT_EQ((*model)->tensors()[0].name, "b");
  EXPECT_EQ((*model)->find("b")->shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ((*model)->find("c"), nullptr);
  float out[2] = {};
  ASSERT_TRUE((*model)->readRange(*(*model)->find("b"), 1, 2, out));
  EXPECT_EQ(out[0], 2.0f);
  EXPECT_EQ(out[1], 3.0f);
  ASSERT_TRUE((*model)->readRange(*(*model)->find("a"), 0, 1, out));
  EXPECT_EQ(out[0], 3.0f);
  EXPECT_EQ((*model)->find("a")->elements, 1);
}

TEST_F(Safetensors, AnEmptyTensorIsFine) {
  EXPECT_EQ(failureOf(R"({"e":{"dtype":"F32","shape":[0,5],"data_offsets":[0,0]}})", ""), "");
}

TEST_F(Safetensors, RangesOutsideATensorAreRefused) {
  auto model = ModelFile::open(
      write("m.safetensors",
            safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", std::string(8, 0))));
  ASSERT_TRUE(model);
  float out[4];
  const TensorInfo &tensor = *(*model)->find("a");
  for (auto [begin, count] :
       {std::pair<int64_t, int64_t>{0, 3}, {-1, 1}, {2, 1}, {1, INT64_MAX}, {INT64_MAX, INT64_MAX}, {0, -1}})
    EXPECT_FALSE((*model)->readRange(tensor, begin, count, out)) << begin << " " << count;
  EXPECT_TRUE((*model)->readRange(tensor, 2, 0, out));
}

TEST_F(Safetensors, IntegersAreNotWeights) {
  auto model = ModelFile::open(
      write("m.safetensors",
            safetensors(R"({"a":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}})", std::string(8, 0))));
  ASSERT_TRUE(model);
  float out[2];
  Status status = (*model)->readRange(*(*model)->find("a"), 0, 2, out);
  ASSERT_FALSE(status);
  EXPECT_NE(status.failure().message().find("I32"), std::string::npos);
}

TEST_F(Safetensors, HeadersThatContradictTheFileNameTheTensor) {
  std::string eight(8, 0);
  expectFailure(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", eight,
                "tensor a): shape [3] of F32 needs 12 bytes");
  expectFailure(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", eight,
                "tensor a): its bytes [4, 12) are outside");
  expectFailure(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", eight,
                "tensor a): its bytes [8, 0)");
  expectFailure(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", eight, "cover 4 of the 8 bytes");
  expectFailure(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      eight, "a and b overlap");
  expectFailure(
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      eight, "\"a\" is in the header twice");
  expectFailure(R"({"a":{"dtype":"F8_E5M2","shape":[8],"data_offsets":[0,8]}})", eight,
                "F8_E5M2 is not supported");
}

TEST_F(Safetensors, ShapesWhoseProductOverflowsAreRefused) {
  for (const char *shape :
       {"[4294967296,4294967296]", "[9223372036854775807,2]", "[0,9223372036854775807,9223372036854775807]",
        "[4611686018427387904,4]", "[2305843009213693953]", "[9223372036854775808]", "[-1]", "[1.5]", "[1e3]",
        "[18446744073709551616]", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"})
    EXPECT_NE(failureOf(std::string(R"({"a":{"dtype":"F32","shape":)") + shape + R"(,"data_offsets":[0,4]}})",
                        "1234"),
              "")
        << shape;
}

TEST_F(Safetensors, HeadersThatAreNoTableOfTensors) {
  for (const char *header :
       {"", "{", "[]", "3", "{}x", R"({"a":3})", R"({"a":{}})", R"({"a":{"dtype":"F32","shape":[]}})",
        R"({"a":[1]})", R"({"a":{"dtype":["F32"],"shape":[],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":3,"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0]}})",
        R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,2,4]}})",
        R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"dtype":"F32"}})", R"({"a":{"dtype":null}})",
        R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", R"({"__metadata__":{"a":{"b":"c"}}})",
        R"({"__metadata__":3})", "{\"\xff\":{}}"})
    EXPECT_NE(failureOf(header, "1234"), "") << header;
}

TEST_F(Safetensors, NestingBombsAndHugeHeaders) {
  EXPECT_NE(failureOf(std::string(1 << 20, '['), ""), "");
  EXPECT_NE(failureOf(R"({"a":)" + std::string(1 << 20, '{'), ""), "");
  std::string file = raw(uint64_t(-1)) + "{}";
  EXPECT_NE(openFailure(write("m.safetensors", file)).find("its header would be 18446744073709551615 bytes"),
            std::string::npos);
  file = raw(uint64_t(1000)) + "{}";
  EXPECT_NE(openFailure(write("m.safetensors", file)).find("truncated"), std::string::npos);
  for (size_t size : {0u, 1u, 7u})
    EXPECT_NE(openFailure(write("m.safetensors", std::string(size, 'a'))).find("too short"),
              std::string::npos);
}

TEST_F(Safetensors, ThingsThatAreNoFile) {
  EXPECT_NE(openFailure(path("nothing")).find("No such file"), std::string::npos);
  EXPECT_NE(openFailure("/dev/null").find("not a regular file"), std::string::npos);
  EXPECT_NE(openFailure(write("x", "hello, this is a text")).find("neither a safetensors nor a GGUF file"),
            std::string::npos);
  EXPECT_NE(openFailure(write("config.json", "{}")).find("name the directory"), std::string::npos);
  EXPECT_NE(openFailure(write("x.gguf", "hello, this is a text")).find("GGUF's magic"), std::string::npos);
}

TEST_F(Safetensors, AFileTruncatedWhileItIsMappedIsNoticed) {
  std::string file = write(
      "m.safetensors", safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "12345678"));
  auto model = ModelFile::open(file);
  ASSERT_TRUE(model);
  EXPECT_TRUE((*model)->checkUnchanged());
  std::filesystem::resize_file(file, 10);
  EXPECT_FALSE((*model)->checkUnchanged());
}
