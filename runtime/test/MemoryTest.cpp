// Memory taken straight from the system.
#include "tessera/runtime/core/Memory.h"
#include "ErrorLine.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace tessera::runtime {

// No page is touched. The system would promise more than it has.
TEST(Memory, WhatIsTakenHasToFitTheMachine) {
  std::string line = errorOf([] { Memory(machineBytes() + 1, "the weights of rank 0"); });
  EXPECT_NE(line.find("the weights of rank 0"), std::string::npos) << line;
  EXPECT_NE(line.find("there are " + std::to_string(machineBytes())), std::string::npos) << line;
  EXPECT_NE(line.find("a smaller --batch"), std::string::npos) << line;
  EXPECT_NE(errorOf([] { Memory(SIZE_MAX, "all"); }), "");
  EXPECT_EQ(errorOf([] { Memory(4096, "little"); }), "");
}

// Each piece alone would fit: what ranks of this process hold counts together, and what is given back does
// not, by an object or by what it was released to.
TEST(Memory, AllThatTheProcessHoldsCountsTogether) {
  const size_t most = machineBytes() / 8 * 5;
  Memory first(most, "the arena of rank 0");
  std::string line = errorOf([&] { Memory(most, "the arena of rank 1"); });
  EXPECT_NE(line.find("the arena of rank 1"), std::string::npos) << line;
  EXPECT_NE(line.find(" beside " + std::to_string(most)), std::string::npos) << line;
  EXPECT_EQ(errorOf([&] { Memory(most / 3, "the rest"); }), "");
  Memory::free(first.release(), most);
  Memory second;
  EXPECT_EQ(errorOf([&] { second = Memory(most, "the arena of rank 1"); }), "");
  EXPECT_NE(errorOf([&] { Memory(most, "one more"); }), "");
}

TEST(Memory, ControlGroupsLimitIt) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(testing::TempDir()) / "tessera-groups";
  auto limit = [&](const fs::path &file, const std::string &text) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text << "\n";
  };
  fs::remove_all(root);
  EXPECT_EQ(groupBytes("0::/a/b\n", root), SIZE_MAX);
  limit("a/b/memory.max", "max");
  EXPECT_EQ(groupBytes("0::/a/b\n", root), SIZE_MAX);
  limit("a/memory.max", "3000"); // of the group around it
  EXPECT_EQ(groupBytes("0::/a/b\n", root), 3000u);
  limit("a/b/memory.max", "2000");
  EXPECT_EQ(groupBytes("0::/a/b\n", root), 2000u);
  EXPECT_EQ(groupBytes("0::/outside/b\n", root), SIZE_MAX);
  limit("memory.max", "4000"); // a container's own
  EXPECT_EQ(groupBytes("0::/outside/b\n", root), 4000u);
  limit("memory/c/memory.limit_in_bytes", "1000");
  EXPECT_EQ(groupBytes("5:cpu,cpuacct:/c\n4:blkio,memory:/c\n0::/\n", root), 1000u);
  EXPECT_EQ(groupBytes("5:cpu,cpuacct:/c\n", root), SIZE_MAX);
  fs::remove_all(root);
}

} // namespace tessera::runtime
