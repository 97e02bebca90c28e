#include "tessera/runtime/pipeline/Prediction.h"

namespace tessera::runtime {

std::optional<Prediction> predictStep(const StagePrograms &stages) {
  if (stages.spec().times.empty() || !stages.whole().train)
    return std::nullopt;
  Prediction prediction;
  prediction.costs = schedule::stepCosts(stages.spec().times);
  schedule::Transport transport;
  transport.sendBuffers = stages.sendBuffers(Role::Train);
  prediction.step = schedule::predictStep(stages.lists(Role::Train), prediction.costs, transport);
  return prediction;
}

} // namespace tessera::runtime
