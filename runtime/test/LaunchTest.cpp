// What launchers say in the environment, and the last words of a process.
#include "tessera/runtime/launch/Launch.h"

#include "ErrorLine.h"
#include "tessera/runtime/io/MappedFile.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tessera::runtime {

namespace {

// The environment as a launcher makes it, for a scope.
class Variables {
public:
  explicit Variables(std::vector<std::pair<const char *, const char *>> values) : values_(std::move(values)) {
    for (auto [name, value] : values_)
      setenv(name, value, 1);
  }
  ~Variables() {
    for (auto [name, value] : values_)
      unsetenv(name);
  }

private:
  std::vector<std::pair<const char *, const char *>> values_;
};

} // namespace

TEST(Launch, TorchrunSaysWhereItsProcessesMeet) {
  Variables set({{"TORCHELASTIC_RUN_ID", "none"},
                 {"RANK", "3"},
                 {"WORLD_SIZE", "4"},
                 {"LOCAL_RANK", "1"},
                 {"LOCAL_WORLD_SIZE", "2"},
                 {"MASTER_ADDR", "node7"},
                 {"MASTER_PORT", "29500"}});
  Launcher launcher = Launcher::detect();
  EXPECT_EQ(launcher.name, "torchrun");
  EXPECT_EQ(launcher.from(), RanksFrom::Torchrun);
  EXPECT_EQ(launcher.rank, 3);
  EXPECT_EQ(launcher.size, 4);
  EXPECT_EQ(launcher.localRanks, 2);
  EXPECT_EQ(launcher.meeting.host, "node7");
  EXPECT_EQ(launcher.meeting.port, 29501); // torchrun itself listens at MASTER_PORT
  std::string run = launcher.meeting.run;
  {
    Variables restarted({{"TORCHELASTIC_RESTART_COUNT", "1"}});
    EXPECT_NE(Launcher::detect().meeting.run, run);
  }
  {
    Variables own({{"TESSERA_MASTER_PORT", "4000"}});
    EXPECT_EQ(Launcher::detect().meeting.port, 4000);
  }
  {
    Variables own({{"TESSERA_MASTER_PORT", "70000"}});
    EXPECT_NE(errorOf([] {
                Launcher::detect();
              }).find("(TESSERA_MASTER_PORT=70000): it is no number from 1 to 65535; set it to a port"),
              std::string::npos);
  }
  {
    Variables high({{"MASTER_PORT", "99999"}});
    EXPECT_NE(errorOf([] {
                Launcher::detect();
              }).find("(MASTER_PORT=99999): it is no number from 1 to 65535; set it to a port"),
              std::string::npos);
  }
  setenv("RANK", "4", 1);
  EXPECT_NE(errorOf([] { Launcher::detect(); }).find("RANK=4"), std::string::npos);
  unsetenv("WORLD_SIZE");
  EXPECT_NE(errorOf([] { Launcher::detect(); }).find("WORLD_SIZE): torchrun sets it"), std::string::npos);
}

TEST(Launch, TorchrunWithOneProcessIsARunOfThreads) {
  Variables set(
      {{"TORCHELASTIC_RUN_ID", "none"}, {"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_WORLD_SIZE", "1"}});
  EXPECT_EQ(Launcher::detect().from(), RanksFrom::Threads);
}

// Who connects whom: on a CPU nothing starts from torchrun, on GPUs everything does.
TEST(Launch, WorldsConnectWhatTheyCan) {
  for (RanksFrom from : {RanksFrom::Threads, RanksFrom::Mpi, RanksFrom::Torchrun}) {
    const World *host = findWorld("host", from), *gpus = findWorld("nccl", from);
    EXPECT_EQ(host == nullptr, from == RanksFrom::Torchrun);
    ASSERT_NE(gpus, nullptr);
    EXPECT_STREQ(gpus->name(), "nccl");
    EXPECT_EQ(findWorld("smoke signals", from), nullptr);
  }
}

// Whoever wrote the weights anew in place learns which file it was, and nothing of a crash.
TEST(Launch, AFileThatIsCutShortIsNamed) {
  std::string path =
      (std::filesystem::temp_directory_path() / ("cut-short-" + std::to_string(getpid()))).string();
  std::ofstream(path) << std::string(3 * size_t(getpagesize()), 'x');
  auto file = io::MappedFile::open(path);
  ASSERT_TRUE(file);
  EXPECT_EXIT(
      {
        installCrashHandlers();
        std::filesystem::resize_file(path, 0);
        (void)*static_cast<const volatile uint8_t *>((*file)->data() + getpagesize());
      },
      testing::ExitedWithCode(1),
      "^error: cannot read model \\(.*cut-short-[0-9]+\\): the file was cut short while it was read, or its "
      "disk failed; "
      "run again when it is whole\n$");
  std::filesystem::remove(path);
}

} // namespace tessera::runtime
