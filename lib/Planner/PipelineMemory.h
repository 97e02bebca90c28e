//===- PipelineMemory.h - What stages of a pipeline take of a rank -*- C++ -*-===//
#ifndef TESSERA_LIB_PLANNER_PIPELINEMEMORY_H
#define TESSERA_LIB_PLANNER_PIPELINEMEMORY_H

#include "tessera/Planner/PipelineProbe.h"

#include "tessera/runtime/pipeline/RankBytes.h"

namespace tessera {

/// Bytes of one rank of a pipeline, as `info` says them.
using RankMemory = runtime::RankBytes;

/// Of the rank that takes most, with the lists of a step (with sends and receives) that `options` goes with;
/// null: stages generate.
RankMemory memoryOfRanks(const std::vector<StageFigures> &stages, const CompileOptions &options,
                         const schedule::Schedule *lists);

/// Sets of axes, but the one of stages, that no weight of any stage lies over: those of fewest ranks first.
std::vector<std::vector<std::string>> idleAxesOfStages(const std::vector<StageFigures> &stages,
                                                       const CompileOptions &options);

/// `needs at least 12 bytes a rank: ...` of a limit that nothing fits into.
Failure doesNotFit(const CompileOptions &options, const RankMemory &least);
/// `12 of 20 bytes of a rank: ...`.
std::string describeMemory(const CompileOptions &options, const RankMemory &memory);

} // namespace tessera
#endif
