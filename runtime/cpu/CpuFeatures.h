// Does this machine run the code? The manifest names what it was compiled for, in the words of /proc/cpuinfo.
#ifndef TESSERA_RUNTIME_CPU_CPUFEATURES_H
#define TESSERA_RUNTIME_CPU_CPUFEATURES_H

#include "tessera/runtime/core/Manifest.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::runtime {

// What the section of `manifest` says.
struct CpuSection {
  std::string name;                  // of --cpu
  std::vector<std::string> features; // which the code needs
};
CpuSection readCpuSection(const Manifest &manifest);

// What an x86-64 machine says of itself. Tests make one up.
struct CpuMachine {
  // CPUID's words EAX, EBX, ECX and EDX; false: it has no such leaf.
  bool (*cpuid)(uint32_t leaf, uint32_t subleaf, uint32_t *words);
  uint32_t savedState; // XCR0: which registers the system saves
};
// Whether it has the instruction set of this name (InstructionSets.h), and the system saves its registers.
bool cpuHas(std::string_view name, const CpuMachine &machine);
// The same of this machine. Of another processor than x86-64: nothing is known, so yes.
bool cpuHas(std::string_view name);

// The instruction sets that the code needs and this CPU lacks, "avx2, fma"; empty: none.
std::string missingCpuFeatures(const Manifest &manifest);

// Throws Error naming the missing instruction sets.
void checkCpuFeatures(const Manifest &manifest);

} // namespace tessera::runtime
#endif
