// Executables that were cut short, as far as they can still say so.
#include "tessera/runtime/io/Executable.h"
#include "TestFiles.h"
#include "tessera/runtime/io/Embed.h"

using namespace tessera;
using namespace tessera::io;
using namespace tessera::io::test;

namespace {

class Executable : public ScratchFolder {
protected:
  // This program, the first `bytes` of it.
  std::string self(size_t bytes = std::string::npos) {
    return write("out", readBytes("/proc/self/exe").substr(0, bytes));
  }
  static void expectCut(const std::string &path, const std::string &part) {
    Status status = checkExecutableIsWhole(path);
    ASSERT_FALSE(status);
    EXPECT_NE(status.failure().message().find("cannot run this program (" + path +
                                              "): the file was cut short: " + part),
              std::string::npos)
        << status.failure().message();
  }
};

TEST_F(Executable, AWholeOneIsAsLongAsItsHeadersSay) {
  std::string bytes = readBytes("/proc/self/exe");
  EXPECT_EQ(bytesOfElf(bytes), bytes.size());
  EXPECT_TRUE(checkExecutableIsWhole());
  EXPECT_TRUE(checkExecutableIsWhole(self()));
  // What somebody else adds at the end is none of ours.
  EXPECT_TRUE(checkExecutableIsWhole(write("more", bytes + "a signature")));
  EXPECT_TRUE(checkExecutableIsWhole(write("text", "#!/bin/sh\n")));
}

TEST_F(Executable, ACutOneSaysHowMuchIsThere) {
  size_t whole = readBytes("/proc/self/exe").size();
  for (size_t bytes : {whole - 1, whole / 10 * 9, whole / 2, size_t(64), size_t(100)})
    expectCut(self(bytes),
              "it has " + std::to_string(bytes) + " of " + (bytes > 100 ? std::to_string(whole) : ""));
}

TEST_F(Executable, ACutModelWithinIsMissed) {
  std::string path = self();
  size_t plain = readBytes(path).size();
  ASSERT_TRUE(embedModel(path, TESSERA_MODELS "/tiny-llama"));
  EXPECT_TRUE(checkExecutableIsWhole(path));
  std::string whole = readBytes(path);
  for (size_t bytes : {whole.size() - 1, whole.size() - 24, (plain + whole.size()) / 2, plain + 8, plain + 3})
    expectCut(write("cut", whole.substr(0, bytes)), "it ends within the model that it carries");
}

} // namespace
