//===- PipelineExplain.h - What --explain says of a pipeline ----*- C++ -*-===//
#ifndef TESSERA_PLANNER_PIPELINEEXPLAIN_H
#define TESSERA_PLANNER_PIPELINEEXPLAIN_H

#include "tessera/Pipelines/CompileOptions.h"
#include "tessera/Pipelines/Explanation.h"
#include "tessera/runtime/schedule/Predict.h"

#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// A program of some stages, on its own.
struct StageProgram {
  std::string stages; ///< `stages 1 and 2 (layers 4 to 7, 8 to 11)`
  mlir::OwningOpRef<mlir::ModuleOp> module;
};
/// The programs of the stages of `module`, copied; none of a module that is no pipeline.
std::vector<StageProgram> stagePrograms(mlir::ModuleOp module);

/// What one stage gives the next one for a micro-batch (of generation: a chunk of a prompt), or takes back.
struct ChannelExplanation {
  int64_t from = 0, to = 0; ///< stages
  std::string value, type;  ///< by name; as a rank holds it
  std::string why;
  int64_t bytes = 0;        ///< of a rank
  int64_t executions = 1;   ///< in one run of the entry's role: micro-batches of a step
  bool staysOnRank = false; ///< both stages lie at one coordinate: nothing is sent
  /// Predicted, of its part of one message: that of the first value has the latency.
  double seconds = 0;
};
/// Of `module`, whose stages are on rung spmd; in the order of the stages, forward before back.
std::vector<ChannelExplanation> explainChannels(mlir::ModuleOp module, const CompileOptions &options);

/// What the programs of `module`, which are on rung spmd with their times, are predicted to take. Empty: it
/// is no pipeline.
std::string describePrediction(mlir::ModuleOp module, const CompileOptions &options);

/// `a chunk of a prompt 12.30 us, a token 4.50 us`: of all rows, by what each stage takes for those of a
/// group.
std::string describeGeneration(const schedule::GenerationCosts &costs, int64_t groups);

/// `channel residual, stage 0 to 1: ...`
std::string toString(const ChannelExplanation &channel);

} // namespace tessera
#endif
