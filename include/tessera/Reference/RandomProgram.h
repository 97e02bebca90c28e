//===- RandomProgram.h - Programs for property tests -----------*- C++ -*-===//
#ifndef TESSERA_REFERENCE_RANDOMPROGRAM_H
#define TESSERA_REFERENCE_RANDOMPROGRAM_H

#include "tessera/Analysis/Sharding/Mesh.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tessera {

struct RandomProgramOptions {
  int minOps = 3, maxOps = 14; ///< draws in @f; one draw may be several ops (an attention layer)
  int64_t maxElements = 1500;  ///< of one tensor
  int64_t maxRanks = 12;
  bool shardings = true; ///< a mesh, and shardings on arguments, results and in between
};

/// A module with one function @f on rung step, the same for the same seed and options: graph ops of all kinds
/// on small tensors whose sizes mostly do not divide, with graph.repeat of one or two bodies. Every value
/// stays far from overflow, and no result hangs on the last bit of another (no comparison of computed
/// floats), so that float64 results may be compared closely. With shardings: `dist.mesh @mesh` of one to
/// three axes, sub-axes among them; attribute `dist.sharding` on some arguments, `dist.constraint` on some
/// values: valid, but in no way sensible. Dialects must be loaded. The module is verified.
mlir::OwningOpRef<mlir::ModuleOp> randomProgram(mlir::MLIRContext &context, uint64_t seed,
                                                const RandomProgramOptions &options = {});

} // namespace tessera
#endif
