// Every input that a fuzzer has found, and the seeds it starts from, in each build: a finding stays mended.
#include "Targets.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace tessera::fuzz;

static std::string readBytes(const std::filesystem::path &path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

// Beside itself each input is also cut short, and with bytes flipped: what a fuzzer tries first.
TEST(FuzzInputs, NoneIsAFinding) {
  for (const Target &target : targets()) {
    int count = 0;
    for (const char *root : {TESSERA_FUZZ_INPUTS, TESSERA_FUZZ_SEEDS}) {
      std::filesystem::path folder = std::filesystem::path(root) / target.name;
      if (!std::filesystem::exists(folder))
        continue;
      for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        SCOPED_TRACE(entry.path().string());
        std::string input = readBytes(entry.path());
        target.run(input);
        ++count;
        for (size_t part = 1; part < 8; ++part) {
          target.run(std::string_view(input).substr(0, input.size() * part / 8));
          std::string flipped = input;
          if (!flipped.empty())
            flipped[flipped.size() * part / 8] ^= char(1 << part);
          target.run(flipped);
        }
      }
    }
    EXPECT_GE(count, 2) << target.name << " has too few inputs";
  }
}
