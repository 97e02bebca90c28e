//===- Pipeline.h - The stages of a pipeline against one device -*- C++ -*-===//
#ifndef TESSERA_TOOLS_LLM_JUDGE_PIPELINE_H
#define TESSERA_TOOLS_LLM_JUDGE_PIPELINE_H

#include "tessera/Pipelines/CompileOptions.h"

#include "mlir/IR/MLIRContext.h"

namespace tessera {

struct PipelineJudgement {
  std::vector<int64_t> layers; ///< of each stage
  std::string rung;            ///< step, sharded, spmd, parts
  std::string pipeline;        ///< of rung parts: the schedule, NAME[:V] or a file
  /// model, a directory or a .mlir file with @forward; mesh of a stage, shard, microBatches, dtype,
  /// recompute, lossChunks, optimizer: as of llm-compile.
  CompileOptions options;
  int64_t steps = 2;
  double dropout = 0;
  double tolerance = 1e-5;
  uint64_t seed = 1; ///< of rows and parameters
};

/// Interprets steps of training in float64: the functions of the stages, one after another, each given what
/// its neighbours gave, and the function of the whole model on one device in one micro-batch. Compares what
/// @evaluate gives, losses, norms, and each weight and moment after the last step, relative to the largest
/// element. Functions are pure: one runs as often as more of its inputs are known. On rung parts steps are
/// the entries that ship, each called as often and in the order that the schedule says. Prints the largest
/// errors; returns the exit status.
int judgePipeline(mlir::MLIRContext &context, const PipelineJudgement &judgement);

} // namespace tessera
#endif
