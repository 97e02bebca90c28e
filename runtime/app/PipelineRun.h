// What the ranks of a pipeline run, and what the board shows of it.
#ifndef TESSERA_RUNTIME_APP_PIPELINERUN_H
#define TESSERA_RUNTIME_APP_PIPELINERUN_H

#include "tessera/runtime/launch/Launch.h"
#include "tessera/runtime/pipeline/StagePrograms.h"

#include <map>
#include <utility>
#include <vector>

namespace tessera::runtime {

class PipelineRun {
public:
  // All arguments must outlive the object.
  PipelineRun(const StagePrograms &stages, const ts_program &program, const Driver &driver);
  PipelineRun(const PipelineRun &) = delete;

  const StagePrograms &stages() const { return stages_; }
  const WeightPlan &weights(int32_t stage) const { return weights_[size_t(stage)]; }
  // A rank's programs are those of its stages, ascending. Group 0 is the pipeline that a rank is in.
  const RunPlan &plan() const { return plan_; }

  // What the board shows: of the first action of a list, of the exchange of a shared weight's gradients, and
  // of what is added up over the stages.
  int32_t firstAction(Role role, int64_t coordinate) const;
  int32_t sharedName(size_t weight) const { return firstShared_ + int32_t(weight); }
  int32_t sumsName() const { return sums_; }
  // Where stages generate: of what a stage gives to the next one for a group of rows, and of a group's
  // tokens.
  int32_t valueName(int32_t stage, int64_t group) const {
    return firstValue_ + int32_t(group) * (stages_.stages() + 1) + stage;
  }
  int32_t tokenName(int64_t group) const { return valueName(stages_.stages(), group); }

private:
  const StagePrograms &stages_;
  std::vector<WeightPlan> weights_;
  std::vector<int32_t> firstCollective_;                // by stage
  std::map<std::pair<bool, int64_t>, int32_t> actions_; // of lists: whether it evaluates, coordinate
  int32_t firstShared_ = 0, sums_ = 0, firstValue_ = 0;
  RunPlan plan_;
};

} // namespace tessera::runtime
#endif
