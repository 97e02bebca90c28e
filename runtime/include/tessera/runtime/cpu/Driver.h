// The driver of the CPU: streams that run at once on the caller's thread, with the threads of the rank.
#ifndef TESSERA_RUNTIME_CPU_DRIVER_H
#define TESSERA_RUNTIME_CPU_DRIVER_H

#include "tessera/runtime/device/Device.h"

namespace tessera::runtime {

const Driver &cpuDriver();

} // namespace tessera::runtime
#endif
