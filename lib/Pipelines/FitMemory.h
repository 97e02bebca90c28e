//===- FitMemory.h - The fastest program that fits --------------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_FITMEMORY_H
#define TESSERA_LIB_PIPELINES_FITMEMORY_H

#include "tessera/Pipelines/CompileOptions.h"

namespace tessera {

/// `options` with what makes the program fit into `options.memory` bytes of a rank, in the least predicted
/// time (docs/Memory.md): `savedBytes` and `liveBytes`, and `recompute` and items for states, gradients and
/// weights in `shard` where nobody asked for others. Fails where nothing fits, and says what would. Whole
/// pipelines run, down to rung exec, dozens of times where little fits. With --explain, says on standard
/// error what was chosen.
Result<CompileOptions> fitMemory(const CompileOptions &options);

} // namespace tessera
#endif
