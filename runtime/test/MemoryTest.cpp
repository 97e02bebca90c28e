// Memory taken straight from the system.
#include "tessera/runtime/core/Memory.h"
#include "ErrorLine.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

namespace tessera::runtime {

// No page is touched. The system would promise more than it has.
TEST(Memory, WhatIsTakenHasToFitTheMachine) {
  std::string line = errorOf([] { Memory(machineBytes() + 1, "the weights of rank 0"); });
  EXPECT_NE(line.find("the weights of rank 0"), std::string::npos) << line;
  EXPECT_NE(line.find("there are " + std::to_string(machineBytes()) + " for it o"), std::string::npos)
      << line;
  EXPECT_NE(line.find("a smaller --batch"), std::string::npos) << line;
  EXPECT_EQ(line.find("of its control group;") != line.npos,
            line.find("; allow it more memory, compile for") != line.npos)
      << line;
  EXPECT_NE(errorOf([] { Memory(SIZE_MAX, "all"); }), "");
  EXPECT_EQ(errorOf([] { Memory(4096, "little"); }), "");
}

// Each piece alone would fit: what ranks of this process hold counts together, and what is given back does
// not, by an object or by what it was released to.
TEST(Memory, AllThatTheProcessHoldsCountsTogether) {
  const size_t most = machineBytes() / 8 * 5;
  Memory first;
  if (std::string no = errorOf([&] { first = Memory(most, "the arena of rank 0"); }); !no.empty()) {
    EXPECT_NE(no.find("; allow this process more memory (ulimit -v), compile"), std::string::npos) << no;
    GTEST_SKIP() << no;
  }
  std::string line = errorOf([&] { Memory(most, "the arena of rank 1"); });
  EXPECT_NE(line.find("the arena of rank 1"), std::string::npos) << line;
  EXPECT_NE(line.find(" beside " + std::to_string(most)), std::string::npos) << line;
  EXPECT_EQ(errorOf([&] { Memory(most / 3, "the rest"); }), "");
  Memory::free(first.release(), most);
  Memory second;
  EXPECT_EQ(errorOf([&] { second = Memory(most, "the arena of rank 1"); }), "");
  EXPECT_NE(errorOf([&] { Memory(most, "one more"); }), "");
}

// Ranks may ask at the same time: what one is refused takes nothing from the others meanwhile.
TEST(Memory, WhatIsRefusedIsNeverCounted) {
  const size_t most = machineBytes();
  std::atomic<bool> isOver{false};
  std::thread greedy([&] {
    while (!isOver)
      (void)errorOf([&] { Memory(most + 1, "too much"); });
  });
  std::string line;
  for (int i = 0; i < 2000 && line.empty(); ++i)
    line = errorOf([] { Memory(4096, "little"); });
  isOver = true;
  greedy.join();
  EXPECT_EQ(line, "");
}

namespace {
// A tree of control groups as the system shows it.
class Groups : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tessera-groups-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root = name;
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  void limit(const std::filesystem::path &file, const std::string &text) {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text << "\n";
  }
  GroupLimits limits(const std::string &groups) { return groupLimits(groups, root); }
  std::filesystem::path root;
};
} // namespace

TEST_F(Groups, LimitMemory) {
  EXPECT_EQ(limits("0::/a/b\n").memory, SIZE_MAX);
  limit("a/b/memory.max", "max");
  EXPECT_EQ(limits("0::/a/b\n").memory, SIZE_MAX);
  limit("a/memory.max", "3000"); // of the group around it
  EXPECT_EQ(limits("0::/a/b\n").memory, 3000u);
  limit("a/b/memory.max", "2000");
  EXPECT_EQ(limits("0::/a/b\n").memory, 2000u);
  EXPECT_EQ(limits("0::/outside/b\n").memory, SIZE_MAX);
  limit("memory.max", "4000"); // a container's own
  EXPECT_EQ(limits("0::/outside/b\n").memory, 4000u);
  limit("memory/c/memory.limit_in_bytes", "1000");
  EXPECT_EQ(limits("5:cpu,cpuacct:/c\n4:blkio,memory:/c\n0::/\n").memory, 1000u);
  EXPECT_EQ(limits("5:cpu,cpuacct:/c\n").memory, SIZE_MAX);
}

TEST_F(Groups, LimitSwapSpace) {
  limit("a/memory.max", "2000");
  EXPECT_EQ(limits("0::/a\n").bytesOf(8000, 500), 2500u); // no limit of it
  limit("a/memory.swap.max", "max");
  EXPECT_EQ(limits("0::/a\n").bytesOf(8000, 500), 2500u);
  limit("memory.swap.max", "300"); // of the group around it
  EXPECT_EQ(limits("0::/a\n").bytesOf(8000, 500), 2300u);
  EXPECT_EQ(limits("0::/a\n").bytesOf(8000, 200), 2200u);
  EXPECT_EQ(limits("0::/a\n").bytesOf(1000, 200), 1200u);
  limit("a/memory.swap.max", "0");
  EXPECT_EQ(limits("0::/a\n").bytesOf(8000, 500), 2000u);
  // Version 1 limits both together.
  limit("memory/c/memory.limit_in_bytes", "1000");
  limit("memory/c/memory.memsw.limit_in_bytes", "1100");
  EXPECT_EQ(limits("4:memory:/c\n").bytesOf(8000, 500), 1100u);
  EXPECT_EQ(limits("4:memory:/c\n").bytesOf(8000, 50), 1050u);
}

} // namespace tessera::runtime
