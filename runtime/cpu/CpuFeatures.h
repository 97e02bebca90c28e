// Does this machine run the code? The manifest names what it was compiled for, in the words of /proc/cpuinfo.
#ifndef TESSERA_RUNTIME_CPU_CPUFEATURES_H
#define TESSERA_RUNTIME_CPU_CPUFEATURES_H

#include "tessera/runtime/core/Manifest.h"

#include <string_view>

namespace tessera::runtime {

// What the section of `manifest` says.
struct CpuSection {
  std::string name;                  // of --cpu
  std::vector<std::string> features; // which the code needs
};
CpuSection readCpuSection(const Manifest &manifest);

// Whether this CPU has the instruction set of this name (InstructionSets.h), and the system saves its
// registers. Of another processor than
// x86-64: nothing is known, so yes.
bool cpuHas(std::string_view name);

// The instruction sets that the code needs and this CPU lacks, "avx2, fma"; empty: none.
std::string missingCpuFeatures(const Manifest &manifest);

// Throws Error naming the missing instruction sets.
void checkCpuFeatures(const Manifest &manifest);

} // namespace tessera::runtime
#endif
