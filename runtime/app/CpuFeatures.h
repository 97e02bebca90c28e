// Does this machine run the code? The manifest names what it was compiled for.
#ifndef TESSERA_RUNTIME_APP_CPUFEATURES_H
#define TESSERA_RUNTIME_APP_CPUFEATURES_H

#include "tessera/runtime/core/Manifest.h"

namespace tessera::runtime {

// Throws Error naming the missing instruction sets. Features that the kernel does not report are not checked.
void checkCpuFeatures(const Manifest &manifest);

} // namespace tessera::runtime
#endif
