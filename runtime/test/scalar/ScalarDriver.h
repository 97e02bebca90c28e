// The driver `scalar`: runs programs of the target of that name (test/Target/Scalar), with a section of its
// own in the manifest, on the CPU's device.
#ifndef TESSERA_RUNTIME_TEST_SCALAR_SCALARDRIVER_H
#define TESSERA_RUNTIME_TEST_SCALAR_SCALARDRIVER_H

#include "tessera/runtime/device/Device.h"

namespace tessera::runtime {

const Driver &scalarDriver();

} // namespace tessera::runtime
#endif
