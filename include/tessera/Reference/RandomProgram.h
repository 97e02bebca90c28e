//===- RandomProgram.h - Programs for property tests -----------*- C++ -*-===//
#ifndef TESSERA_REFERENCE_RANDOMPROGRAM_H
#define TESSERA_REFERENCE_RANDOMPROGRAM_H

#include "tessera/Analysis/Sharding/Mesh.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tessera {

struct RandomProgramOptions {
  int minOps = 3,
      maxOps = 14; ///< draws in @f (@g has fewer); one draw may be several ops (an attention layer)
  int64_t maxElements = 1500; ///< of one tensor
  int64_t maxRanks = 36;      ///< mostly 12 at most
  int functions = 2;          ///< 1: never a second one
  bool shardings = true;      ///< a mesh, and shardings on arguments, results and in between
  bool shardedLayers =
      true; ///< stacks may be split over their layers; without pipelines no program below rung spmd may
  bool caches = true;     ///< attention through caches, at times; no gradient flows through those
  bool experts = true;    ///< at times
  bool regions = true;    ///< branches and manual computations, at times; no gradient flows through those
  bool manyLoops = false; ///< repeats in most programs, often of two bodies, in reverse or nested
  enum class Floats {
    F32,
    BF16,
    F16
  } floats = Floats::F32; ///< the type of all floats that are not cast to another on the way
};

/// A module on rung step with function @f, at times with @g that shares weights with it by name; the same for
/// the same seed and options. Graph ops of all kinds on small tensors whose sizes mostly do not divide, with
/// graph.repeat of one or two bodies, nested and in a row, that carry values and sum up. Every value stays
/// far from overflow, and no result hangs on the last bit of another (no comparison of computed floats), so
/// that float64 results may be compared closely. With shardings: `dist.mesh @mesh` of up to four axes of 1 to
/// 7, at times more ranks than a dimension has rows; attribute `dist.sharding` on some arguments and results,
/// `dist.constraint` on some values, barriers and groups behind some of those, sub-axes among them: valid,
/// but in no way sensible. Dialects must be loaded. The module is verified.
mlir::OwningOpRef<mlir::ModuleOp> randomProgram(mlir::MLIRContext &context, uint64_t seed,
                                                const RandomProgramOptions &options = {});

} // namespace tessera
#endif
