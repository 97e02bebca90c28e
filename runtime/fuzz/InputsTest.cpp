// Every input that a fuzzer has found, and the seeds it starts from, in each build: a finding stays mended.
#include "Targets.h"

#include <algorithm>
#include <cstdlib>
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

// The folders that hold inputs of a target; TESSERA_FUZZ_CORPUS has those that a fuzzer has made besides.
static std::vector<std::filesystem::path> foldersOf(const Target &target) {
  std::vector<std::filesystem::path> folders;
  for (const char *root : {TESSERA_FUZZ_INPUTS, TESSERA_FUZZ_SEEDS,
                           static_cast<const char *>(std::getenv("TESSERA_FUZZ_CORPUS"))})
    if (root && std::filesystem::exists(std::filesystem::path(root) / target.name))
      folders.push_back(std::filesystem::path(root) / target.name);
  return folders;
}

class FuzzInputs : public testing::TestWithParam<Target> {};

// Beside itself each input is also cut short, and with bytes flipped: what a fuzzer tries first.
TEST_P(FuzzInputs, NoneIsAFinding) {
  const Target &target = GetParam();
  int count = 0;
  for (const std::filesystem::path &folder : foldersOf(target))
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
  EXPECT_GE(count, 2) << target.name << " has too few inputs";
}

// `tokenizer-json` is FuzzInputs.NoneIsAFinding/tokenizer_json: names of tests have no dashes.
INSTANTIATE_TEST_SUITE_P(, FuzzInputs, testing::ValuesIn(targets()), [](const auto &info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});
