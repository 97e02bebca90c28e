#include "CpuFeatures.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Fields.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tessera::runtime {

#if defined(__x86_64__)
namespace {

enum Register { EAX, EBX, ECX, EDX };
// Which registers' state the system has to save for it (bits of XCR0).
constexpr uint32_t kNoState = 0, kAvxState = 6, kAvx512State = 0xE6;

// Where CPUID says it (Intel's manual, volume 2, CPUID), by the name in /proc/cpuinfo. That file is not
// asked: under an emulator it is the host's.
struct InstructionSet {
  const char *name;
  uint32_t leaf, subleaf;
  Register where;
  int bit;
  uint32_t state;
};
constexpr InstructionSet kInstructionSets[] = {
    {"pni", 1, 0, ECX, 0, kNoState},
    {"ssse3", 1, 0, ECX, 9, kNoState},
    {"fma", 1, 0, ECX, 12, kAvxState},
    {"sse4_1", 1, 0, ECX, 19, kNoState},
    {"sse4_2", 1, 0, ECX, 20, kNoState},
    {"movbe", 1, 0, ECX, 22, kNoState},
    {"popcnt", 1, 0, ECX, 23, kNoState},
    {"avx", 1, 0, ECX, 28, kAvxState},
    {"f16c", 1, 0, ECX, 29, kAvxState},
    {"bmi1", 7, 0, EBX, 3, kNoState},
    {"avx2", 7, 0, EBX, 5, kAvxState},
    {"bmi2", 7, 0, EBX, 8, kNoState},
    {"avx512f", 7, 0, EBX, 16, kAvx512State},
    {"avx512dq", 7, 0, EBX, 17, kAvx512State},
    {"avx512ifma", 7, 0, EBX, 21, kAvx512State},
    {"avx512cd", 7, 0, EBX, 28, kAvx512State},
    {"avx512bw", 7, 0, EBX, 30, kAvx512State},
    {"avx512vl", 7, 0, EBX, 31, kAvx512State},
    {"avx512vbmi", 7, 0, ECX, 1, kAvx512State},
    {"avx512_vbmi2", 7, 0, ECX, 6, kAvx512State},
    {"gfni", 7, 0, ECX, 8, kNoState},
    {"vaes", 7, 0, ECX, 9, kAvxState},
    {"vpclmulqdq", 7, 0, ECX, 10, kAvxState},
    {"avx512_vnni", 7, 0, ECX, 11, kAvx512State},
    {"avx512_bitalg", 7, 0, ECX, 12, kAvx512State},
    {"avx512_vpopcntdq", 7, 0, ECX, 14, kAvx512State},
    {"avx512_vp2intersect", 7, 0, EDX, 8, kAvx512State},
    {"avx_vnni", 7, 1, EAX, 4, kAvxState},
    {"avx512_bf16", 7, 1, EAX, 5, kAvx512State},
    {"abm", 0x80000001, 0, ECX, 5, kNoState},
};

} // namespace

static uint32_t savedState() {
  uint32_t a, b, c, d;
  constexpr uint32_t osxsave = 1u << 27;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & osxsave))
    return 0;
  asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return a;
}

bool cpuHas(const std::string &name) {
  for (const InstructionSet &set : kInstructionSets) {
    if (name != set.name)
      continue;
    uint32_t words[4];
    return __get_cpuid_count(set.leaf, set.subleaf, &words[EAX], &words[EBX], &words[ECX], &words[EDX]) &&
           (words[set.where] >> set.bit & 1) && (savedState() & set.state) == set.state;
  }
  return false;
}
#else
bool cpuHas(const std::string &) { return true; }
#endif

CpuSection readCpuSection(const Manifest &manifest) {
  CpuSection section;
  readSection(manifest, [&](Fields &fields) {
    section.name = fields.get<std::string>("name", "");
    section.features = fields.get("features", std::vector<std::string>());
  });
  return section;
}

std::string missingCpuFeatures(const Manifest &manifest) {
  CpuSection section = readCpuSection(manifest);
  std::string missing;
  for (const std::string &feature : section.features)
    if (!cpuHas(feature))
      missing += (missing.empty() ? "" : ", ") + feature;
  return missing;
}

void checkCpuFeatures(const Manifest &manifest) {
  const std::string name = readCpuSection(manifest).name, plainest = "x86-64-v3";
  if (const std::string missing = missingCpuFeatures(manifest); !missing.empty())
    throw Error("cannot run on this CPU", "compiled for --cpu=" + name, "it lacks " + missing,
                "compile with --cpu=native on this machine" +
                    (name == plainest ? "" : ", or with --cpu=" + plainest));
}

} // namespace tessera::runtime
