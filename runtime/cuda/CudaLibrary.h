// libcuda and libcublasLt, opened when the first device is: an executable starts, and `info` runs, without
// them.
#ifndef TESSERA_RUNTIME_CUDA_CUDALIBRARY_H
#define TESSERA_RUNTIME_CUDA_CUDALIBRARY_H

#include "api/CublasLt.h"
#include "api/NativeStream.h"

#include <string>

namespace tessera::runtime {

// The driver API.
struct CudaLibrary : cuda::Functions {
  int version = 0; // the CUDA version that the installed driver is for: 13000 is 13.0

  // Opens libcuda.so.1 (TESSERA_LIBCUDA names another) and starts it on the first call. Throws Error, one
  // line each, if it is missing, if it is the stub that toolkits bring along, if the driver is older than
  // kLeastVersion or lacks a function, and if there is no device.
  static const CudaLibrary &get();
  // The same without the one table of the process: for tests.
  static CudaLibrary open();

  // "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory".
  std::string describe(cuda::CUresult result) const;

  static constexpr int kLeastVersion = 12000; // cuGetProcAddress_v2
};

// "12.4" from 12040.
std::string cudaVersionText(int version);

// cuBLASLt.
struct CublasLtLibrary : cuda::CublasLtFunctions {
  std::string path;

  // Opens libcublasLt.so.13 or .12, wherever openLibrary looks, on the first call (TESSERA_CUBLASLT names
  // it): 13 needs a driver for CUDA 13. Throws Error if it is missing.
  static const CublasLtLibrary &get(int driverVersion);
  static CublasLtLibrary open(int driverVersion);
};

} // namespace tessera::runtime
#endif
