#include "TestFiles.h"

using namespace tessera;
using namespace tessera::io;
using namespace tessera::io::test;

namespace {
class HuggingFace : public ScratchFolder {
protected:
  // A folder with two shards, one float each.
  void SetUp() override {
    ScratchFolder::SetUp();
    write("config.json", "{}");
    write("s1.safetensors", shard("a", 1.5f));
    write("s2.safetensors", shard("b", 2.5f));
    writeIndex(R"("a":"s1.safetensors","b":"s2.safetensors")");
  }
  static std::string shard(const std::string &name, float value) {
    return safetensors("{\"" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", raw(value));
  }
  void writeIndex(const std::string &map) {
    write("model.safetensors.index.json", R"({"metadata":{},"weight_map":{)" + map + "}}");
  }
  void expectFailure(const std::string &part) {
    std::string message = openFailure(folder);
    EXPECT_NE(message.find(part), std::string::npos) << "wanted: " << part << "\ngave: " << message;
  }
};
} // namespace

TEST_F(HuggingFace, ReadsShardsThroughTheIndex) {
  auto model = ModelFile::open(folder + "/");
  ASSERT_TRUE(model) << model.failure().message();
  float out = 0;
  ASSERT_TRUE((*model)->readRange(*(*model)->find("b"), 0, 1, &out));
  EXPECT_EQ(out, 2.5f);
  EXPECT_EQ((*model)->format(), ModelFormat::HuggingFace);
  EXPECT_EQ(*(*model)->text("config.json"), "{}");
  EXPECT_EQ((*model)->text("tokenizer.json"), nullptr);
}

// As the folder of a training run's saves has it.
TEST_F(HuggingFace, ShardsMayLieInFoldersBelow) {
  std::filesystem::create_directory(path("step-20"));
  write("step-20/model.safetensors", shard("a", 7.5f));
  writeIndex(R"("a":"step-20/model.safetensors","b":"s2.safetensors")");
  auto model = ModelFile::open(folder);
  ASSERT_TRUE(model) << model.failure().message();
  float out = 0;
  ASSERT_TRUE((*model)->readRange(*(*model)->find("a"), 0, 1, &out));
  EXPECT_EQ(out, 7.5f);
}

TEST_F(HuggingFace, AConfigAloneIsAModelWithoutWeights) {
  for (const char *name : {"s1.safetensors", "s2.safetensors", "model.safetensors.index.json"})
    std::filesystem::remove(path(name));
  auto model = ModelFile::open(folder);
  ASSERT_TRUE(model) << model.failure().message();
  EXPECT_FALSE((*model)->hasWeights());
}

TEST_F(HuggingFace, WithoutConfigItIsNoModel) {
  std::filesystem::remove(path("config.json"));
  expectFailure("no config.json");
}

TEST_F(HuggingFace, MissingAndWrongShards) {
  writeIndex(R"("a":"s1.safetensors","b":"s3.safetensors")");
  expectFailure("s3.safetensors): the index names this shard and it is missing");
  writeIndex(R"("a":"s1.safetensors","b":"s1.safetensors")");
  expectFailure("tensor b is not in s1.safetensors");
  writeIndex(R"("a":"s2.safetensors","b":"s1.safetensors")");
  expectFailure("tensor a is in s1.safetensors, not in s2.safetensors");
  write("s2.safetensors", shard("a", 1));
  expectFailure("also in s1.safetensors");
  write("s2.safetensors", shard("b", 1).substr(0, 40));
  writeIndex(R"("a":"s1.safetensors","b":"s2.safetensors")");
  expectFailure("s2.safetensors): truncated");
}

TEST_F(HuggingFace, IndexesThatLeadElsewhere) {
  for (const char *name :
       {"../s1.safetensors", "/etc/passwd", "", ".", "..", "a/../s1.safetensors", "a/", "a//b"}) {
    writeIndex(std::string(R"("a":")") + name + "\"");
    expectFailure("is not the name of a file beside the index");
  }
  writeIndex(R"("a":"model.safetensors.index.json")"); // an index that names itself
  expectFailure("model.safetensors.index.json");
  writeIndex(R"("a":3)");
  expectFailure("is not a name");
  write("model.safetensors.index.json", R"({"weight_map":[]})");
  expectFailure("no \"weight_map\"");
  write("model.safetensors.index.json", R"({"weight_map":{}})");
  expectFailure("names no tensor");
  write("model.safetensors.index.json", R"({"weight_map":{"a":"s1.safetensors","a":"s2.safetensors"}})");
  expectFailure("occurs twice");
  write("model.safetensors.index.json", std::string(100000, '['));
  expectFailure("nested deeper than 64 levels");
  write("model.safetensors.index.json", "{");
  expectFailure("not valid JSON");
}

TEST_F(HuggingFace, ShardsWithoutAnIndexAreNotPassedOver) {
  std::filesystem::remove(path("model.safetensors.index.json"));
  std::filesystem::rename(path("s1.safetensors"), path("model-00001-of-00002.safetensors"));
  expectFailure("model-00001-of-00002.safetensors but no model.safetensors.index.json");
}

TEST_F(HuggingFace, FoldersAndDanglingLinksInPlaceOfFiles) {
  std::filesystem::create_directory(path("model.safetensors"));
  expectFailure("model.safetensors): not a regular file");
  std::filesystem::remove(path("model.safetensors"));
  std::filesystem::create_symlink("nowhere", path("model.safetensors"));
  expectFailure("model.safetensors): No such file");
}
