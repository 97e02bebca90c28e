#include "CpuFeatures.h"

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
  for (const char *name : {"pni",
                           "ssse3",
                           "sse4_1",
                           "sse4_2",
                           "popcnt",
                           "avx",
                           "avx2",
                           "f16c",
                           "fma",
                           "bmi1",
                           "bmi2",
                           "abm",
                           "movbe",
                           "avx_vnni",
                           "avx512f",
                           "avx512bw",
                           "avx512cd",
                           "avx512dq",
                           "avx512vl",
                           "avx512_vnni",
                           "avx512vbmi",
                           "avx512_vbmi2",
                           "avx512ifma",
                           "avx512_bitalg",
                           "avx512_vpopcntdq",
                           "avx512_bf16",
                           "avx512_vp2intersect",
                           "gfni",
                           "vaes",
                           "vpclmulqdq"})
    EXPECT_EQ(cpuHas(name), flags.count(name) == 1) << name;
}

TEST(CpuFeatures, OfUnknownNamesAreMissing) { EXPECT_FALSE(cpuHas("avx1024")); }
#endif

} // namespace tessera::runtime
