//===- PipelineModels.h - What schedules are chosen by ----------*- C++ -*-===//
#ifndef TESSERA_LIB_PLANNER_PIPELINEMODELS_H
#define TESSERA_LIB_PLANNER_PIPELINEMODELS_H

#include "tessera/Planner/PipelineProbe.h"

#include "tessera/AutoParallel/Machine.h"
#include "tessera/runtime/schedule/Choose.h"

#include <map>

namespace tessera {

/// What stages of one model take for numbers of micro-batches, with backward in one or in two.
class PipelineModels {
public:
  /// With what `options` says (its `splitsBackward`, too), and messages over `link`. Bytes are known with
  /// --memory alone: they take programs of rung exec.
  Status add(StageProbe &probe, const LayerLoop &loop, const CompileOptions &options, const Link &link,
             const std::vector<int32_t> &microBatches);

  bool isEmpty() const { return models.empty(); }
  const schedule::PipelineModel &of(int32_t microBatches, bool splitsBackward) const;

private:
  std::map<std::pair<int32_t, bool>, schedule::PipelineModel> models;
};

} // namespace tessera
#endif
