// Opening a save: every damage is found and named.
#include "TestRun.h"

#include <sys/stat.h>

using namespace tessera;
using namespace tessera::checkpoint;
using namespace tessera::checkpoint::test;

namespace {

class CheckpointTest : public io::test::ScratchFolder {
protected:
  void SetUp() override {
    ScratchFolder::SetUp();
    TrainingRun run = onOneRank();
    run.states.push_back({"moment.safetensors", modelParams(io::DType::BF16)});
    for (int64_t step : {1, 2}) {
      Status status = run.save(path("run"), step, 2);
      ASSERT_TRUE(status) << status.failure().message();
    }
  }
  // What opening and verifying `where` says; "" if all is well.
  std::string why(const std::string &where = "run") const {
    auto save = Checkpoint::open(path(where));
    if (!save)
      return save.failure().message();
    Status status = (*save)->verify();
    return status ? "" : status.failure().message();
  }
  void expectFailure(const std::string &part) const {
    std::string message = why();
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.rfind("cannot resume (" + path("run"), 0), 0u) << message;
    EXPECT_EQ(why("run/step-1"), ""); // the other save is whole
  }
};

TEST_F(CheckpointTest, AFlippedByteIsFoundWhereverItIs) {
  for (const char *name : {"checkpoint.json", "config.json", "model.safetensors", "moment.safetensors"}) {
    const std::string file = std::string("run/step-2/") + name, bytes = io::test::readBytes(path(file));
    ASSERT_FALSE(bytes.empty());
    for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 150) {
      std::string flipped = bytes;
      flipped[at] ^= 1;
      write(file, flipped);
      std::string message = why();
      EXPECT_NE(message.find(path("run/step-2/") + name), std::string::npos) << name << " " << at << message;
      EXPECT_NE(message.find("its bytes are not those that were saved"), std::string::npos) << message;
    }
    write(file, bytes);
    EXPECT_EQ(why(), "");
  }
}

TEST_F(CheckpointTest, EachRankVerifiesItsShare) {
  const std::string file = path("run/step-2/moment.safetensors");
  std::string bytes = io::test::readBytes(file);
  bytes.back() ^= 0x40;
  write("run/step-2/moment.safetensors", bytes);
  auto save = Checkpoint::open(path("run"));
  ASSERT_TRUE(save);
  int64_t failures = 0;
  for (int64_t part = 0; part < 3; ++part)
    failures += !(*save)->verify(part, 3);
  EXPECT_EQ(failures, 1);
}

TEST_F(CheckpointTest, MissingAndCutFilesAreNamed) {
  std::string moment = io::test::readBytes(path("run/step-2/moment.safetensors"));
  write("run/step-2/moment.safetensors", moment.substr(0, moment.size() - 1));
  expectFailure("moment.safetensors): it has " + std::to_string(moment.size() - 1) +
                " bytes, and was saved with " + std::to_string(moment.size()));
  std::filesystem::remove(path("run/step-2/moment.safetensors"));
  expectFailure("moment.safetensors): No such file or directory; name an earlier save with "
                "--resume=DIR/step-N");
  std::filesystem::remove(path("run/step-2/checkpoint.json"));
  expectFailure("checkpoint.json): it is missing: the save is not whole");
  std::filesystem::remove_all(path("run/step-2"));
  expectFailure("step-2/checkpoint.json): it is missing");
}

TEST_F(CheckpointTest, WhatIsNoSaveIsSaidToBeNone) {
  EXPECT_NE(why("nothing").find("No such file or directory; name a folder that --save wrote"),
            std::string::npos);
  std::filesystem::create_directory(path("empty"));
  EXPECT_NE(why("empty").find("there is no whole save in it"), std::string::npos);
  std::filesystem::create_directory(path("empty/step-3.part"));
  EXPECT_NE(why("empty").find("there is no whole save in it"), std::string::npos);
  EXPECT_NE(why("run/config.json").find("Not a directory"), std::string::npos);
  // The index is what says which save is the newest.
  std::filesystem::remove(path("run/model.safetensors.index.json"));
  EXPECT_EQ(why(), "");
  // A pipe is no index that one waits for.
  ASSERT_EQ(mkfifo(path("run/model.safetensors.index.json").c_str(), 0600), 0);
  EXPECT_NE(why().find("index.json): Operation not supported"), std::string::npos) << why();
}

TEST_F(CheckpointTest, AnotherModelIsNamedByItsTensor) {
  auto save = Checkpoint::open(path("run"));
  ASSERT_TRUE(save);
  auto why = [&](const std::string &file, const std::vector<ParamSpec> &params) {
    Status status = (*save)->checkModel(file, params);
    return status ? "" : status.failure().message();
  };
  std::vector<ParamSpec> params = modelParams();
  EXPECT_EQ(why("model.safetensors", params), "");
  EXPECT_EQ(why("moment.safetensors", params), ""); // of another type: converted when it is read
  EXPECT_NE(why("second.safetensors", params).find("the save has no such file; resume with the optimizer"),
            std::string::npos);
  params.pop_back();
  EXPECT_NE(why("model.safetensors", params).find("tensor one): the program has no such tensor"),
            std::string::npos);
  params = modelParams();
  params.push_back(param("more", 0, {2}, {source("more", {2}, {2})}));
  EXPECT_NE(
      why("model.safetensors", params).find("tensor more): the save has no such tensor: it is another model"),
      std::string::npos);
  params = modelParams();
  params[0] = param("embed", 0, {6, 7}, {source("wte.weight", {6, 7}, {6, 7})});
  EXPECT_NE(why("model.safetensors", params).find("its shape is [7, 6], the program's [6, 7]"),
            std::string::npos);
}

TEST_F(CheckpointTest, TextsOfTheModelComeAlong) {
  auto texts = textsBeside(TESSERA_MODELS "/tiny-llama");
  ASSERT_TRUE(texts);
  std::vector<std::string> names;
  for (const auto &[name, text] : *texts) {
    names.push_back(name);
    EXPECT_EQ(text, io::test::readBytes(std::string(TESSERA_MODELS "/tiny-llama/") + name));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"config.json", "expected.json", "tokenizer.json"}));
  // Neither weights nor the mark of the save that a run begins with.
  texts = textsBeside(path("run/step-1"));
  ASSERT_TRUE(texts);
  EXPECT_EQ(texts->size(), 2u);
  // Each of them small enough, and together too much for every save to hold.
  std::filesystem::create_directory(path("large"));
  for (const char *name : {"a", "b", "c", "d", "e"}) {
    write(std::string("large/") + name, "");
    std::filesystem::resize_file(path("large/") + name, 60u << 20);
  }
  texts = textsBeside(path("large"));
  ASSERT_FALSE(texts);
  EXPECT_NE(texts.failure().message().find("are more than 256 MiB"), std::string::npos);
  texts = textsBeside(path("nothing"));
  ASSERT_TRUE(texts);
  EXPECT_TRUE(texts->empty());
}

} // namespace
