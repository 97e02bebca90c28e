#include "CpuFeatures.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Fields.h"
#include "tessera/runtime/core/InstructionSets.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tessera::runtime {

// CPUID is asked, not /proc/cpuinfo: under an emulator that file is the host's.
bool cpuHas(std::string_view name, const CpuMachine &machine) {
  for (const InstructionSet &set : kInstructionSets) {
    if (name != set.name)
      continue;
    uint32_t words[4];
    const auto saved = uint32_t(set.saved);
    return machine.cpuid(set.leaf, set.subleaf, words) && (words[int(set.where)] >> set.bit & 1) &&
           (machine.savedState & saved) == saved;
  }
  return false;
}

#if defined(__x86_64__)
static bool cpuid(uint32_t leaf, uint32_t subleaf, uint32_t *words) {
  return __get_cpuid_count(leaf, subleaf, &words[0], &words[1], &words[2], &words[3]);
}

static uint32_t savedState() {
  uint32_t words[4];
  constexpr uint32_t osxsave = 1u << 27;
  if (!cpuid(1, 0, words) || !(words[2] & osxsave))
    return 0;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool cpuHas(std::string_view name) { return cpuHas(name, {cpuid, savedState()}); }
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
