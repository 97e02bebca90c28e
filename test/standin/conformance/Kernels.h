// The kernels of kernels.c, in a module.
#ifndef TESSERA_STANDIN_CONFORMANCE_KERNELS_H
#define TESSERA_STANDIN_CONFORMANCE_KERNELS_H

#include "Suite.h"

namespace conformance {

const char *kernelsPtx();

struct Kernels {
  CUmodule module = nullptr;
  Kernels();
  ~Kernels();
  CUfunction operator[](const char *name) const;
};

// Parameters by value, as the kernel has them.
template <typename... Parameters>
CUresult launch(CUfunction function, unsigned grid, unsigned block, unsigned shared, CUstream stream,
                Parameters... parameters) {
  void *addresses[] = {&parameters..., nullptr};
  return api().cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, stream, addresses, nullptr);
}

} // namespace conformance
#endif
