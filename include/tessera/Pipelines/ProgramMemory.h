//===- ProgramMemory.h - What a program takes of a rank ---------*- C++ -*-===//
#ifndef TESSERA_PIPELINES_PROGRAMMEMORY_H
#define TESSERA_PIPELINES_PROGRAMMEMORY_H

#include "tessera/Target/Target.h"

#include <array>

namespace tessera {

/// Bytes of one rank, as `info` says them.
struct ProgramMemory {
  int64_t weights = 0; ///< states of the optimizer included
  int64_t arena = 0;
  int64_t workspace = 0; ///< for weights in blocks that come in pieces: a library's own is not known here
  /// Of it, what each micro-batch that is under way has for itself, by graph::Slot.
  std::array<int64_t, 3> slots{};
  int64_t total() const { return weights + arena + workspace; }
};

/// Of a module on rung exec.
ProgramMemory programMemory(mlir::ModuleOp module, const Target &target);

} // namespace tessera
#endif
