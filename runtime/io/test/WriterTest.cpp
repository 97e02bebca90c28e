#include "TestFiles.h"
#include "tessera/runtime/io/SafetensorsWriter.h"

#include <csignal>
#include <sys/resource.h>

using namespace tessera;
using namespace tessera::io;
using namespace tessera::io::test;

namespace {
class Writer : public ScratchFolder {};
} // namespace

TEST_F(Writer, WhatIsWrittenReadsBack) {
  const float floats[] = {1, 2, 3, 4, 5, 6};
  const int32_t ints[] = {7, 8};
  ASSERT_TRUE(writeSafetensors(path("m.safetensors"),
                               {{"w", DType::F32, {2, 3}, floats}, {"t \"q\"", DType::I32, {2}, ints}}));
  auto model = ModelFile::open(path("m.safetensors"));
  ASSERT_TRUE(model) << model.failure().message();
  EXPECT_EQ((*model)->find("w")->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp((*model)->find("w")->data, floats, sizeof floats), 0);
  EXPECT_EQ(std::memcmp((*model)->find("t \"q\"")->data, ints, sizeof ints), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*model)->find("w")->data) % 64, 0u);
}

TEST_F(Writer, RowsComeOneByOne) {
  auto writer = SafetensorsRowWriter::create(path("l.safetensors"), "logits", 3);
  ASSERT_TRUE(writer);
  const float rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  ASSERT_TRUE((*writer)->append(rows, 1));
  ASSERT_TRUE((*writer)->append(rows + 3, 2));
  ASSERT_TRUE((*writer)->finish());
  auto model = ModelFile::open(path("l.safetensors"));
  ASSERT_TRUE(model) << model.failure().message();
  EXPECT_EQ((*model)->find("logits")->shape, (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(std::memcmp((*model)->find("logits")->data, rows, sizeof rows), 0);
}

// The names in the folder of `file`.
static std::vector<std::string> namesBeside(const std::string &file) {
  std::vector<std::string> names;
  for (auto &entry : std::filesystem::directory_iterator(std::filesystem::path(file).parent_path()))
    names.push_back(entry.path().filename());
  return names;
}

// Until a file is finished the one before it stays, whole; so it does where the writer never finishes.
TEST_F(Writer, AFileIsReplacedByAWholeOne) {
  const float before[] = {1, 2, 3}, after[] = {4, 5, 6, 7, 8, 9};
  std::string file = path("l.safetensors");
  ASSERT_TRUE(writeSafetensors(file, {{"logits", DType::F32, {1, 3}, before}}));
  auto rows = [&] {
    auto model = ModelFile::open(file);
    return model ? (*model)->find("logits")->shape[0] : -1;
  };
  {
    auto writer = SafetensorsRowWriter::create(file, "logits", 3);
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->append(after, 2));
    EXPECT_EQ(rows(), 1);
  }
  EXPECT_EQ(rows(), 1);
  EXPECT_EQ(namesBeside(file), std::vector<std::string>{"l.safetensors"});
  auto writer = SafetensorsRowWriter::create(file, "logits", 3);
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->append(after, 2));
  ASSERT_TRUE((*writer)->finish());
  EXPECT_EQ(rows(), 2);
  EXPECT_EQ(namesBeside(file), std::vector<std::string>{"l.safetensors"});
}

// Ctrl-C leaves the file that was there.
TEST_F(Writer, AKilledProcessLeavesTheOldFile) {
  const float row[] = {1, 2, 3};
  std::string file = path("l.safetensors");
  ASSERT_TRUE(writeSafetensors(file, {{"logits", DType::F32, {1, 3}, row}}));
  auto killed = [&] {
    auto writer = SafetensorsRowWriter::create(file, "logits", 3);
    (void)(*writer)->append(row, 1);
    std::signal(SIGINT, SIG_DFL); // whoever is started in the background ignores it
    raise(SIGINT);
  };
  EXPECT_EXIT(killed(), testing::KilledBySignal(SIGINT), "");
  EXPECT_TRUE(ModelFile::open(file));
}

TEST_F(Writer, ALinkGoesOnMeaningItsFile) {
  const float row[] = {1, 2, 3};
  std::filesystem::create_symlink("real.safetensors", path("link.safetensors"));
  std::ofstream(path("real.safetensors")) << "old";
  ASSERT_TRUE(writeSafetensors(path("link.safetensors"), {{"w", DType::F32, {3}, row}}));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.safetensors")));
  EXPECT_TRUE(ModelFile::open(path("real.safetensors")));
}

TEST_F(Writer, AFullDiskIsAFailure) {
  Status status = writeSafetensors("/dev/full", {{"w", DType::F32, {1}, "1234"}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.failure().message(),
            "cannot write tensors (/dev/full): No space left on device; free some space");
  EXPECT_TRUE(std::filesystem::exists("/dev/full"));
  status = writeSafetensors(path("no/such/folder/m"), {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.failure().message(), "cannot write tensors (" + path("no/such/folder/m") +
                                            "): No such file or directory; check the path");
}

TEST_F(Writer, AFileThatCannotGrowIsRemovedAgain) {
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit small{4096, old.rlim_max};
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::vector<float> much(100000);
  Status status = writeSafetensors(path("m.safetensors"), {{"w", DType::F32, {100000}, much.data()}});
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(status);
  EXPECT_FALSE(std::filesystem::exists(path("m.safetensors")));
}
