// A libcuda that only starts, or does not: what it answers is set by variables of the environment. For the
// errors of drivers that no machine of ours has.
//   FAKE_CUDA_VERSION   the CUDA version of the driver
//   FAKE_CUDA_INIT      what cuInit returns
//   FAKE_CUDA_DEVICES   how many there are
//   FAKE_CUDA_LACKS     a function that it does not have
#include "api/Cuda.h"

#include <cstdlib>
#include <cstring>

namespace tessera::cuda {

static int number(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text ? atoi(text) : otherwise;
}

static CUresult refuse() { return CUDA_ERROR_NOT_SUPPORTED; }

extern "C" {
CUresult cuInit(unsigned int) { return CUresult(number("FAKE_CUDA_INIT", 0)); }

CUresult cuDriverGetVersion(int *version) {
  *version = number("FAKE_CUDA_VERSION", 13000);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  *count = number("FAKE_CUDA_DEVICES", 1);
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
#define NAME(name, value)                                                                                    \
  if (error == name)                                                                                         \
    *text = #name;
  TESSERA_CUDA_RESULTS(NAME)
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult, const char **text) {
  *text = "what the driver says of it";
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int, uint64_t,
                             CUdriverProcAddressQueryResult *) {
  const char *lacks = getenv("FAKE_CUDA_LACKS");
  if (lacks && !strcmp(lacks, symbol)) {
    *function = nullptr;
    return CUDA_ERROR_NOT_FOUND;
  }
  *function = reinterpret_cast<void *>(&refuse);
#define HAS(name)                                                                                            \
  if (!strcmp(symbol, #name))                                                                                \
    *function = reinterpret_cast<void *>(&name);
  HAS(cuInit)
  HAS(cuDriverGetVersion)
  HAS(cuDeviceGetCount)
  HAS(cuGetErrorName)
  HAS(cuGetErrorString)
  return CUDA_SUCCESS;
}
}

} // namespace tessera::cuda
