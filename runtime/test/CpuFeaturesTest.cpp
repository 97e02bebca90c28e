#include "CpuFeatures.h"
#include "tessera/runtime/core/InstructionSets.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace tessera::runtime {

#if defined(__x86_64__)
// CPUID and the system say the same of every instruction set that code may need.
TEST(CpuFeatures, AreThoseOfProcCpuinfo) {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; flags.empty() && std::getline(file, line);)
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line.substr(line.find(':') + 1));
      flags.insert(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
    }
  ASSERT_FALSE(flags.empty());
  for (const InstructionSet &set : kInstructionSets)
    EXPECT_EQ(cpuHas(set.name), flags.count(set.name) == 1) << set.name;
}

// A machine whose CPU says that it has everything counts for as much as its system saves.
TEST(CpuFeatures, AreThereWhereTheSystemSavesTheirRegisters) {
  auto everything = [](uint32_t, uint32_t, uint32_t *words) {
    std::fill_n(words, 4, ~0u);
    return true;
  };
  auto nothing = [](uint32_t, uint32_t, uint32_t *words) {
    std::fill_n(words, 4, 0u);
    return true;
  };
  auto older = [](uint32_t leaf, uint32_t, uint32_t *words) { // than the leaf
    std::fill_n(words, 4, ~0u);
    return leaf < 7;
  };
  constexpr uint32_t sse = 2, avx = 6, avx512 = 0xe6, half = 0x26;
  struct Case {
    const char *name;
    uint32_t least; // that the system has to save
  };
  for (const Case &one : {Case{"sse4_2", 0},
                          {"bmi2", 0},
                          {"avx", avx},
                          {"avx2", avx},
                          {"f16c", avx},
                          {"fma", avx},
                          {"avx512f", avx512},
                          {"avx512_bf16", avx512}}) {
    for (uint32_t saved : {0u, sse, avx, half, avx512})
      EXPECT_EQ(cpuHas(one.name, {everything, saved}), (saved & one.least) == one.least)
          << one.name << " where the system saves " << saved;
    EXPECT_FALSE(cpuHas(one.name, {nothing, avx512})) << one.name;
  }
  EXPECT_TRUE(cpuHas("avx", {older, avx512}));
  EXPECT_FALSE(cpuHas("avx2", {older, avx512}));
  EXPECT_FALSE(cpuHas("avx1024", {everything, avx512}));
}

TEST(CpuFeatures, OfUnknownNamesAreMissing) { EXPECT_FALSE(cpuHas("avx1024")); }
#endif

} // namespace tessera::runtime
