// The driver for NVIDIA's GPUs (docs/DriverCUDA.md).
#ifndef TESSERA_RUNTIME_CUDA_DRIVER_H
#define TESSERA_RUNTIME_CUDA_DRIVER_H

#include "tessera/runtime/device/Device.h"

namespace tessera::runtime {

// Opens no library before the first device is opened.
const Driver &cudaDriver();

} // namespace tessera::runtime
#endif
