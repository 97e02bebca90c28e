#include "CpuFeatures.h"
#include "tessera/runtime/core/InstructionSets.h"

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

TEST(CpuFeatures, OfUnknownNamesAreMissing) { EXPECT_FALSE(cpuHas("avx1024")); }
#endif

} // namespace tessera::runtime
