#include "tessera/runtime/schedule/Predict.h"

#include <algorithm>
#include <numeric>

namespace tessera::schedule {

static double sum(const std::vector<double> &numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.);
}
static double most(const std::vector<double> &numbers) {
  return numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
}

using Times = std::map<std::string, std::vector<double>>;

static std::vector<double> timesOf(const Times &times, const char *name) {
  auto found = times.find(name);
  return found == times.end() ? std::vector<double>() : found->second;
}

StepCosts stepCosts(const Times &times) {
  auto of = [&](const char *name) { return timesOf(times, name); };
  StepCosts costs;
  costs.costs.forward = of("forward");
  costs.costs.backwardInput = of("input_gradient");
  costs.costs.backwardWeight = of("weight_gradient");
  costs.costs.link = of("link");
  costs.costs.wire = of("wire");
  costs.once = of("once");
  costs.shared = of("shared");
  return costs;
}

double StepPrediction::sharedSeconds() const { return most(shared); }
double StepPrediction::seconds() const { return simulation.makespan + sharedSeconds() + most(once); }
double StepPrediction::idle() const {
  const double all = seconds() * double(once.size());
  return all > 0 ? 1 - (sum(simulation.busy) + sum(once)) / all : 0;
}

StepPrediction predictStep(const Schedule &schedule, const StepCosts &costs, const Transport &transport) {
  StepPrediction prediction;
  prediction.simulation = simulate(schedule, costs.costs, transport);
  prediction.once.resize(schedule.ranks.size());
  prediction.shared.resize(schedule.ranks.size());
  for (int32_t stage = 0; stage < schedule.numStages(); ++stage) {
    const auto rank = size_t(schedule.rankOfStage[size_t(stage)]);
    prediction.once[rank] += Costs::of(costs.once, stage);
    prediction.shared[rank] += Costs::of(costs.shared, stage);
  }
  return prediction;
}

GenerationCosts generationCosts(const Times &times) {
  return {timesOf(times, "chunk"), timesOf(times, "token"), timesOf(times, "link"),
          timesOf(times, "token_link")};
}

GenerationPrediction predictGeneration(const GenerationCosts &costs, int64_t groups) {
  return {sum(costs.chunk) + sum(costs.link) + double(groups - 1) * most(costs.chunk),
          std::max(sum(costs.token) + sum(costs.tokenLink), double(groups) * most(costs.token))};
}

} // namespace tessera::schedule
