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

TEST_F(Writer, AnUnfinishedFileIsRemoved) {
  {
    auto writer = SafetensorsRowWriter::create(path("l.safetensors"), "logits", 3);
    ASSERT_TRUE(writer);
    EXPECT_TRUE(std::filesystem::exists(path("l.safetensors")));
  }
  EXPECT_FALSE(std::filesystem::exists(path("l.safetensors")));
}

TEST_F(Writer, AFullDiskIsAFailure) {
  Status status = writeSafetensors("/dev/full", {{"w", DType::F32, {1}, "1234"}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.failure().message(),
            "cannot write tensors (/dev/full): No space left on device; free some space");
  EXPECT_TRUE(std::filesystem::exists("/dev/full"));
  EXPECT_FALSE(writeSafetensors(path("no/such/folder/m"), {}));
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
