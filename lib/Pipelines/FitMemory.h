//===- FitMemory.h - The fastest program that fits --------------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_FITMEMORY_H
#define TESSERA_LIB_PIPELINES_FITMEMORY_H

#include "tessera/Pipelines/CompileOptions.h"

namespace tessera {

/// `options` with what makes the program fit into `options.memory` bytes of a rank, in the least predicted
/// time (docs/Memory.md): `savedBytes`, and `recompute` and items for gradients in `shard` where nobody asked
/// for others. Fails where nothing fits, and says what would. Whole pipelines run, down to rung exec: some
/// dozens at most. The more memory, the less time is predicted. With --explain, says on standard error what
/// was chosen.
Result<CompileOptions> fitMemory(const CompileOptions &options);

} // namespace tessera
#endif
