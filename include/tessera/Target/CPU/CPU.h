// The CPU target: one entry of the list of targets.
#ifndef TESSERA_TARGET_CPU_CPU_H
#define TESSERA_TARGET_CPU_CPU_H

#include "tessera/Target/Target.h"

namespace tessera {

/// Target `cpu`, option `--cpu=NAME` (resolveCPUTarget in TargetInfo.h).
TargetDescription describeCPU();

} // namespace tessera
#endif
