#include "tessera/runtime/io/Embed.h"
#include "TestFiles.h"

using namespace tessera;
using namespace tessera::io;
using namespace tessera::io::test;

namespace {
class Embed : public ScratchFolder {
protected:
  void SetUp() override {
    ScratchFolder::SetUp();
    executable = write("out", "#!/bin/sh\n" + std::string(5000, 'x'));
  }
  static void expectSameModel(const ModelFile &a, const ModelFile &b) {
    ASSERT_EQ(a.tensors().size(), b.tensors().size());
    for (size_t i = 0; i < a.tensors().size(); ++i) {
      EXPECT_EQ(a.tensors()[i].name, b.tensors()[i].name);
      ASSERT_EQ(a.tensors()[i].bytes, b.tensors()[i].bytes);
      EXPECT_EQ(std::memcmp(a.tensors()[i].data, b.tensors()[i].data, a.tensors()[i].bytes), 0);
    }
  }
  std::string executable;
};
} // namespace

TEST_F(Embed, ADirectoryWithShardsTravelsWhole) {
  std::string source = TESSERA_MODELS "/tiny-llama";
  std::string before = readBytes(executable);
  Status status = embedModel(executable, source);
  ASSERT_TRUE(status) << status.failure().message();
  EXPECT_EQ(readBytes(executable).substr(0, before.size()), before);
  auto original = ModelFile::open(source);
  auto embedded = ModelFile::openEmbedded(executable);
  ASSERT_TRUE(original && embedded && *embedded);
  EXPECT_TRUE((*embedded)->isEmbedded());
  EXPECT_EQ((*embedded)->format(), ModelFormat::HuggingFace);
  EXPECT_EQ(*(*embedded)->text("tokenizer.json"), *(*original)->text("tokenizer.json"));
  expectSameModel(**original, **embedded);
}

TEST_F(Embed, ShardsInFoldersBelowKeepTheirNames) {
  std::filesystem::create_directories(path("run/step-2"));
  write("run/config.json", "{}");
  const std::string values = raw(1.0f) + raw(2.0f);
  write("run/step-2/model.safetensors",
        safetensors(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", values));
  write("run/model.safetensors.index.json", R"({"weight_map":{"w":"step-2/model.safetensors"}})");
  Status status = embedModel(executable, path("run"));
  ASSERT_TRUE(status) << status.failure().message();
  auto original = ModelFile::open(path("run"));
  auto embedded = ModelFile::openEmbedded(executable);
  ASSERT_TRUE(original && embedded && *embedded);
  expectSameModel(**original, **embedded);
}

TEST_F(Embed, AGgufFileKeepsItsMetadataAndStartsOnAPage) {
  std::string source = TESSERA_TEST_INPUTS "/quantized/gguf-q4_1/model.gguf";
  ASSERT_TRUE(embedModel(executable, source));
  auto original = ModelFile::open(source);
  auto embedded = ModelFile::openEmbedded(executable);
  ASSERT_TRUE(original && embedded && *embedded);
  EXPECT_EQ((*embedded)->metadata().size(), (*original)->metadata().size());
  expectSameModel(**original, **embedded);
  EXPECT_EQ(readBytes(executable).find("GGUF") % 4096, 0u);
}

TEST_F(Embed, AnExecutableWithoutAModelHasNone) {
  auto embedded = ModelFile::openEmbedded(executable);
  ASSERT_TRUE(embedded);
  EXPECT_EQ(*embedded, nullptr);
  auto self = ModelFile::openEmbedded();
  ASSERT_TRUE(self);
  EXPECT_EQ(*self, nullptr);
}

TEST_F(Embed, FailuresLeaveTheExecutableAsItWas) {
  std::string before = readBytes(executable);
  EXPECT_FALSE(embedModel(executable, path("nothing")));
  std::filesystem::create_directory(path("m"));
  write("m/config.json", "{}");
  Status status = embedModel(executable, path("m"));
  ASSERT_FALSE(status);
  EXPECT_NE(status.failure().message().find("no weights"), std::string::npos);
  EXPECT_EQ(readBytes(executable), before);
  ASSERT_TRUE(embedModel(executable, TESSERA_MODELS "/tiny-llama"));
  status = embedModel(executable, TESSERA_MODELS "/tiny-llama");
  ASSERT_FALSE(status);
  EXPECT_NE(status.failure().message().find("carries a model already"), std::string::npos);
}

TEST_F(Embed, DamagedTrailersAreRefused) {
  ASSERT_TRUE(embedModel(executable, TESSERA_MODELS "/tiny-llama"));
  std::string good = readBytes(executable);
  for (size_t at = good.size() - 24; at < good.size() - 8; ++at) {
    std::string bad = good;
    bad[at] = char(bad[at] + 1);
    EXPECT_FALSE(ModelFile::openEmbedded(write("bad", bad))) << at;
  }
  EXPECT_FALSE(ModelFile::openEmbedded(write("bad", good.substr(good.size() - 24))));
}
