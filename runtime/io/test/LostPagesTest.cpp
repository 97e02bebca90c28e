// Files that get shorter while they are mapped.
#include "tessera/runtime/io/LostPages.h"
#include "tessera/runtime/io/MappedFile.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace tessera::io;
namespace fs = std::filesystem;

namespace {
class LostPages : public testing::Test {
protected:
  void SetUp() override {
    path = (fs::temp_directory_path() / ("lost-pages-" + std::to_string(getpid()))).string();
    std::ofstream(path) << std::string(5 * size_t(getpagesize()), 'x');
  }
  void TearDown() override { fs::remove(path); }

  std::string path;
};

int valueAt(const MappedFile &file, size_t at) {
  return *static_cast<const volatile uint8_t *>(file.data() + at);
}
void sayGoodbye() { (void)!write(STDERR_FILENO, "cleaned up, ", 12); }
} // namespace

TEST_F(LostPages, ALostPageEndsTheProcessWithTheFilesName) {
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  EXPECT_EXIT(
      {
        endOnLostPages(sayGoodbye);
        fs::resize_file(path, size_t(getpagesize()));
        valueAt(**file, 0); // still there
        valueAt(**file, 3 * size_t(getpagesize()));
        _exit(0);
      },
      testing::ExitedWithCode(1),
      "^cleaned up, error: cannot read model \\(.*lost-pages-[0-9]+\\): the file was cut short while it was "
      "read, or "
      "its disk failed; run again when it is whole\n$");
}

TEST_F(LostPages, APartOfAFileIsNamed) {
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  size_t page = size_t(getpagesize());
  auto part = (*file)->view(2 * page, page, "config.json");
  ASSERT_TRUE(part);
  const char *message = lostPageMessage((*part)->data());
  ASSERT_NE(message, nullptr);
  EXPECT_NE(std::string(message).find(", config.json)"), std::string::npos) << message;
}

TEST_F(LostPages, WhatIsMappedNoMoreIsForgotten) {
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  const uint8_t *begin = (*file)->data();
  size_t bytes = (*file)->size();
  EXPECT_NE(lostPageMessage(begin), nullptr);
  EXPECT_NE(lostPageMessage(begin + bytes - 1), nullptr);
  EXPECT_EQ(lostPageMessage(begin + bytes), nullptr);
  file = tessera::Failure{"", "", "", ""};
  EXPECT_EQ(lostPageMessage(begin), nullptr);
}

// Notes of closed files make room for others.
TEST_F(LostPages, ManyFilesOneAfterAnother) {
  for (int i = 0; i < 5000; ++i) {
    auto file = MappedFile::open(path);
    ASSERT_TRUE(file);
    ASSERT_NE(lostPageMessage((*file)->data()), nullptr) << i;
  }
}

TEST_F(LostPages, AnotherBusErrorIsLeftToTheHandlerBefore) {
  EXPECT_EXIT(
      {
        signal(SIGBUS, [](int) { _exit(7); });
        endOnLostPages();
        raise(SIGBUS);
        _exit(0);
      },
      testing::ExitedWithCode(7), "^$");
}
