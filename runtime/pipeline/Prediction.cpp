#include "tessera/runtime/pipeline/Prediction.h"

#include <algorithm>

namespace tessera::runtime {

std::optional<Prediction> predictStep(const StagePrograms &stages) {
  const std::map<std::string, std::vector<double>> &times = stages.spec().times;
  if (times.empty() || !stages.whole().train)
    return std::nullopt;
  Prediction prediction;
  prediction.costs.forward = times.at("forward");
  prediction.costs.backwardInput = times.at("input_gradient");
  prediction.costs.backwardWeight = times.at("weight_gradient");
  prediction.costs.link = times.at("link");
  const schedule::Schedule &lists = stages.lists(Role::Train);
  schedule::Transport transport;
  transport.sendBuffers = stages.sendBuffers(Role::Train);
  prediction.simulation = schedule::simulate(lists, prediction.costs, transport);
  for (int64_t at = 0; at < lists.numRanks(); ++at) {
    double once = 0;
    for (int32_t stage : stages.stagesAt(at))
      once += times.at("once")[size_t(stage)];
    prediction.once = std::max(prediction.once, once);
  }
  return prediction;
}

} // namespace tessera::runtime
