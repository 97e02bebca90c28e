#include "CpuFeatures.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Fields.h"
#include "tessera/runtime/core/InstructionSets.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tessera::runtime {

#if defined(__x86_64__)
static uint32_t savedState() {
  uint32_t a, b, c, d;
  constexpr uint32_t osxsave = 1u << 27;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & osxsave))
    return 0;
  asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return a;
}

// CPUID is asked, not /proc/cpuinfo: under an emulator that file is the host's.
bool cpuHas(std::string_view name) {
  for (const InstructionSet &set : kInstructionSets) {
    if (name != set.name)
      continue;
    uint32_t words[4];
    const auto saved = uint32_t(set.saved);
    return __get_cpuid_count(set.leaf, set.subleaf, &words[0], &words[1], &words[2], &words[3]) &&
           (words[int(set.where)] >> set.bit & 1) && (savedState() & saved) == saved;
  }
  return false;
}
#else
bool cpuHas(std::string_view) { return true; }
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
  const std::string name = readCpuSection(manifest).name, plainest = kCpuLevels[0];
  if (const std::string missing = missingCpuFeatures(manifest); !missing.empty())
    throw Error("cannot run on this CPU", "compiled for --cpu=" + name, "it lacks " + missing,
                "compile with --cpu=native on this machine" +
                    (name == plainest ? "" : ", or with --cpu=" + plainest));
}

} // namespace tessera::runtime
