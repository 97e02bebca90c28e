//===- PipelineMemory.h - What stages of a pipeline take of a rank -*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_PIPELINEMEMORY_H
#define TESSERA_LIB_PIPELINES_PIPELINEMEMORY_H

#include "PipelineProbe.h"

#include "tessera/runtime/schedule/Schedule.h"

namespace tessera {

/// Bytes of one rank of a pipeline, as `info` says them.
struct RankMemory {
  int64_t weights = 0, arenas = 0;
  int64_t slots = 0;  ///< beside those in the arenas, and messages that are kept
  int64_t values = 0; ///< between stages
  int64_t shared = 0; ///< gradients of weights of two stages, the own one and the other's
  int64_t total() const { return weights + arenas + slots + values + shared; }
};

/// Of the rank that takes most, with the lists of a step (with sends and receives) that `options` goes with;
/// null: stages generate, and hold the slots of all groups.
RankMemory memoryOfRanks(const std::vector<StageFigures> &stages, const CompileOptions &options,
                         const schedule::Schedule *lists);

/// `needs at least 12 bytes a rank: ...` of a limit that nothing fits into.
Failure doesNotFit(const CompileOptions &options, const RankMemory &least);
/// `12 of 20 bytes of a rank: ...`.
std::string describeMemory(const CompileOptions &options, const RankMemory &memory);

} // namespace tessera
#endif
