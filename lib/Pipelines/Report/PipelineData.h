//===- PipelineData.h - A pipeline as plain data ----------------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_REPORT_PIPELINEDATA_H
#define TESSERA_LIB_PIPELINES_REPORT_PIPELINEDATA_H

#include "tessera/Planner/PipelineExplain.h"

#include "tessera/runtime/schedule/Predict.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera::report {

/// What the page of a pipeline has beside its programs'.
struct Pipeline {
  struct Stage {
    int64_t at = 0, first = 0, layers = 0;
    /// Predicted, by what is done: `forward`, ...
    std::vector<std::pair<std::string, double>> seconds;
  };
  std::string axis, schedule, mesh;
  int64_t ranks = 1;
  std::vector<Stage> stages;
  std::vector<ChannelExplanation> channels;
  schedule::Schedule lists;      ///< of a step, with sends and receives; empty: the stages generate
  schedule::StepPrediction step; ///< of them, with these seconds
};

/// `module`, whose stages are on rung spmd, with its times. None: it is no pipeline.
std::optional<Pipeline> describePipeline(mlir::ModuleOp module, const CompileOptions &options);

/// The section of the page: time line, stages and channels.
void writePipeline(llvm::raw_ostream &os, const Pipeline &pipeline);
llvm::json::Value toJson(const Pipeline &pipeline);

} // namespace tessera::report
#endif
