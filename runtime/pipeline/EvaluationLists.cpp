#include "tessera/runtime/pipeline/EvaluationLists.h"

#include "tessera/runtime/schedule/Lower.h"
#include "tessera/runtime/schedule/Simulate.h"

#include <algorithm>

namespace tessera::runtime {

EvaluationLists evaluationLists(const schedule::Schedule &step) {
  schedule::Schedule forwards;
  forwards.microBatches = step.microBatches;
  forwards.rankOfStage = step.rankOfStage;
  for (int32_t at = 0; at < step.numRanks(); ++at) {
    schedule::ActionList list;
    for (int32_t m = 0; m < forwards.microBatches; ++m)
      for (int32_t stage = 0; stage < step.numStages(); ++stage)
        if (step.rankOfStage[size_t(stage)] == at)
          list.push_back({schedule::Kind::Forward, stage, m});
    forwards.ranks.push_back(std::move(list));
  }
  EvaluationLists evaluation;
  evaluation.lists = schedule::lower(forwards, schedule::Lowering::Eager);
  evaluation.sendBuffers = std::max(1, schedule::leastSendBuffers(evaluation.lists).withoutDelay);
  return evaluation;
}

} // namespace tessera::runtime
