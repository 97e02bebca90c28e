#include "GemmKernels.h"

namespace tessera::runtime {

extern const GemmKernels gemmKernelsBaseline;
#if defined(__x86_64__)
extern const GemmKernels gemmKernelsAvx2, gemmKernelsAvx512;
#endif

static const GemmKernels &choose() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
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

} // namespace tessera::runtime
