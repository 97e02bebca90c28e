#include "tessera/runtime/pipeline/EvaluationLists.h"

#include "tessera/runtime/schedule/Lower.h"
#include "tessera/runtime/schedule/Simulate.h"

#include <algorithm>

namespace tessera::runtime {

EvaluationLists evaluationLists(const schedule::Schedule &step) {
  EvaluationLists evaluation;
  evaluation.lists = schedule::lower(schedule::forwardsOf(step), schedule::Lowering::Eager);
  evaluation.sendBuffers = std::max(1, schedule::leastSendBuffers(evaluation.lists).withoutDelay);
  return evaluation;
}

} // namespace tessera::runtime
