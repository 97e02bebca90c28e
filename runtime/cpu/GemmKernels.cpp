#include "GemmKernels.h"

namespace tessera::runtime {

extern const GemmKernels gemmKernelsBaseline;
#if defined(__x86_64__)
extern const GemmKernels gemmKernelsAvx2, gemmKernelsAvx512;
extern const BlockPairKernels blockPairsAvx512[];
#endif

#if defined(__x86_64__)
static bool hasAvx512() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}
#endif

static const GemmKernels &choose() {
#if defined(__x86_64__)
  if (hasAvx512())
    return gemmKernelsAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    return gemmKernelsAvx2;
#endif
  return gemmKernelsBaseline;
}

const GemmKernels &gemmKernels() {
  static const GemmKernels &kernels = choose();
  return kernels;
}

const BlockPairKernels *blockPairKernels() {
#if defined(__x86_64__)
  static const bool multiplied = hasAvx512() && __builtin_cpu_supports("avx512bf16");
  if (multiplied)
    return blockPairsAvx512;
#endif
  return nullptr;
}

} // namespace tessera::runtime
