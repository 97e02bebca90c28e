// What the CPU target compiles for.
#ifndef TESSERA_TARGET_CPU_TARGETINFO_H
#define TESSERA_TARGET_CPU_TARGETINFO_H

#include "tessera/runtime/core/InstructionSets.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace tessera {

/// What its vectors can: for kernels that are written vector by vector.
struct VectorUnit {
  int64_t lanes; ///< float32 elements
  /// Adds the products of two pairs of bfloat16 numbers to a float32, in every lane (VDPBF16PS).
  bool bf16Pairs = false;
};

struct CPUTarget {
  std::string triple;
  std::string cpu;      ///< LLVM's name, "znver5"
  std::string features; ///< LLVM's feature string, "+avx512f,-amx-tile"; empty where the name says all
  unsigned vectorBits;  ///< widest vector worth using: 128, 256 or 512
  /// Instruction sets the code may use, in the names of /proc/cpuinfo ("avx512f", "fma"): for the manifest's
  /// cpu.features.
  std::vector<std::string> requiredFeatures;
  std::string name = {}; ///< for the manifest's cpu.name; empty: `cpu`

  unsigned lanes() const { return vectorBits / 32; }
  VectorUnit vectorUnit() const;
};

/// kCpuLevels as a list for people.
std::string cpuLevelsText();

/// Resolves `name`: "native" (this machine), one of kCpuLevels, or any CPU name of LLVM. An
/// unknown name is an error of one line. Cost: milliseconds the first time.
llvm::Expected<CPUTarget> resolveCPUTarget(llvm::StringRef name);

} // namespace tessera

#endif
