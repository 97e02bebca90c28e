#include "GemmKernels.h"
#include "CpuFeatures.h"
#include "tessera/runtime/core/InstructionSets.h"

#include <algorithm>
#include <iterator>

namespace tessera::runtime {

extern const GemmKernels gemmKernelsBaseline;
#if defined(__x86_64__)
extern const GemmKernels gemmKernelsAvx2, gemmKernelsAvx512;
extern const BlockPairKernels blockPairsAvx512[];
extern const PackedPairColumns packedPairsAvx512;
#endif

#if defined(__x86_64__)
static bool hasAvx512() {
  return std::all_of(std::begin(kAvx512Kernels), std::end(kAvx512Kernels),
                     [](const char *name) { return cpuHas(name); });
}
static bool multipliesBfloat16() {
  static const bool does = hasAvx512() && cpuHas("avx512_bf16");
  return does;
}
#endif

RunnableKernels runnableKernels() {
  RunnableKernels list = {{&gemmKernelsBaseline}, 1};
#if defined(__x86_64__)
  if (!cpuHas("avx2") || !cpuHas("fma") || !cpuHas("f16c"))
    return list;
  list.kernels[list.count++] = &gemmKernelsAvx2;
  if (hasAvx512())
    list.kernels[list.count++] = &gemmKernelsAvx512;
#endif
  return list;
}

const GemmKernels &gemmKernels() {
  static const GemmKernels &kernels = **(runnableKernels().end() - 1);
  return kernels;
}

const BlockPairKernels *blockPairKernels() {
#if defined(__x86_64__)
  if (multipliesBfloat16())
    return blockPairsAvx512;
#endif
  return nullptr;
}

PackedPairColumns packedPairColumns() {
#if defined(__x86_64__)
  if (multipliesBfloat16())
    return packedPairsAvx512;
#endif
  return nullptr;
}

} // namespace tessera::runtime
