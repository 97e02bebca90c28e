#include "tessera/runtime/schedule/Choose.h"

#include "tessera/runtime/schedule/Lower.h"

#include <algorithm>
#include <tuple>

namespace tessera::schedule {

double Plan::mostBytes() const { return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end()); }

std::string Plan::toString() const {
  std::string text(scheduleName(name));
  if (takesStagesPerRank(name) && stagesPerRank > 1)
    text += ":" + std::to_string(stagesPerRank);
  return text + ", " + std::to_string(microBatches) + " micro-batches";
}

Costs costsOf(const PipelineModel &model, const StageSizes &sizes) {
  Costs costs;
  costs.forward = stageCosts(model.forward, sizes);
  costs.backwardInput = stageCosts(model.backwardInput, sizes);
  costs.backwardWeight = stageCosts(model.backwardWeight, sizes);
  costs.link = {model.link};
  costs.hold = stageCosts(model.saved, sizes);
  costs.freed = stageCosts(model.freed, sizes);
  // The simulator wants the part of what is held.
  for (size_t stage = 0; stage < sizes.size(); ++stage)
    costs.freed[stage] = costs.hold[stage] > 0 ? costs.freed[stage] / costs.hold[stage] : 0;
  return costs;
}

std::vector<double> bytesOfRanks(const PipelineModel &model, const StageSizes &sizes,
                                 const Schedule &schedule) {
  Costs costs = costsOf(model, sizes);
  std::vector<double> weights = stageCosts(model.weights, sizes);
  std::vector<double> bytes(size_t(schedule.numRanks()), model.rankBytes);
  for (int32_t stage = 0; stage < schedule.numStages(); ++stage)
    bytes[size_t(schedule.rankOfStage[size_t(stage)])] += weights[size_t(stage)];
  Schedule lists = lower(schedule, Lowering::Late);
  std::vector<Held> held = heldAtMost(lists, costs);
  int32_t sends = leastSendBuffers(lists, costs).withoutDelay;
  for (size_t rank = 0; rank < bytes.size(); ++rank)
    bytes[rank] += held[rank].bytes + (held[rank].receives + std::max(0, sends)) * model.messageBytes;
  return bytes;
}

namespace {
class Chooser {
public:
  Chooser(const std::function<PipelineModel(int32_t)> &model, const ChoiceLimits &limits)
      : model_(model), limits_(limits) {}

  // All of them, the shortest first.
  std::vector<Plan> plans;
  std::string refusal; // of the last schedule that does not have such sizes

  void run() {
    for (int32_t m : limits_.microBatches) {
      PipelineModel model = model_(m);
      for (int name = 0; name < kNamedSchedules; ++name)
        if (!limits_.name || *limits_.name == Name(name))
          for (int32_t v : stagesPerRank(Name(name)))
            add(model, Name(name), v, m);
    }
    // Of equal times always the same one first.
    std::sort(plans.begin(), plans.end(), [](const Plan &a, const Plan &b) {
      return std::tie(a.seconds, a.microBatches, a.stagesPerRank, a.name) <
             std::tie(b.seconds, b.microBatches, b.stagesPerRank, b.name);
    });
  }

private:
  std::vector<int32_t> stagesPerRank(Name name) const {
    if (limits_.sizes) {
      int32_t v = int32_t(limits_.sizes->size()) / limits_.ranks;
      return takesStagesPerRank(name) || v == (isVShaped(name) ? 2 : 1) ? std::vector<int32_t>{v}
                                                                        : std::vector<int32_t>{};
    }
    if (!takesStagesPerRank(name))
      return {isVShaped(name) ? 2 : 1};
    if (limits_.stagesPerRank > 0)
      return {limits_.stagesPerRank};
    // More stages than layers help as well: a rank may hold the head and the stage before, and have none of a
    // round.
    std::vector<int32_t> result;
    for (int32_t v = 1; v <= limits_.mostStagesPerRank; ++v)
      result.push_back(v);
    return result;
  }

  void add(const PipelineModel &model, Name name, int32_t v, int32_t m) {
    Result<Schedule> made = generate(name, limits_.ranks, m, takesStagesPerRank(name) ? v : 0);
    if (!made) {
      refusal = made.failure().why + "; " + made.failure().hint;
      return;
    }
    const Schedule &schedule = *made;
    auto seconds = [&](const StageSizes &sizes) {
      return simulate(schedule, costsOf(model, sizes)).makespan;
    };
    std::vector<StageSizes> candidates;
    if (limits_.sizes) {
      candidates.push_back(*limits_.sizes);
    } else {
      candidates.push_back(shortest(model, schedule, seconds));
      // What is shortest may not fit: from there, and from the evenest weights, to what does.
      if (limits_.bytes > 0 && mostBytes(model, candidates.front(), schedule) > limits_.bytes)
        for (StageSizes from : {candidates.front(), cutLayers(model.weights, schedule.numStages()).take()})
          candidates.push_back(fitting(model, schedule, seconds, std::move(from)));
    }
    for (StageSizes &sizes : candidates) {
      double time = seconds(sizes);
      std::vector<double> bytes = bytesOfRanks(model, sizes, schedule);
      plans.push_back({name, v, m, std::move(sizes), time, std::move(bytes)});
    }
  }

  static double mostBytes(const PipelineModel &model, const StageSizes &sizes, const Schedule &schedule) {
    std::vector<double> bytes = bytesOfRanks(model, sizes, schedule);
    return *std::max_element(bytes.begin(), bytes.end());
  }

  using Measure = std::function<double(const StageSizes &)>;
  StageSizes shortest(const PipelineModel &model, const Schedule &schedule, const Measure &seconds) const {
    LayerCosts sum = model.forward;
    for (const LayerCosts *part : {&model.backwardInput, &model.backwardWeight}) {
      sum.before += part->before;
      sum.after += part->after;
      for (size_t layer = 0; layer < sum.layers.size(); ++layer)
        sum.layers[layer] += part->layers[layer];
    }
    // Without a condition there is always a cut.
    return improveCut(cutLayers(sum, schedule.numStages()).take(), seconds, {}, tries(schedule));
  }

  // What is over the limit is worse than any time.
  StageSizes fitting(const PipelineModel &model, const Schedule &schedule, const Measure &seconds,
                     StageSizes from) const {
    double longest = seconds(StageSizes(from)) * 1e3;
    auto measure = [&](const StageSizes &sizes) {
      double over = mostBytes(model, sizes, schedule) / limits_.bytes - 1;
      return over > 0 ? longest * (1 + over) : seconds(sizes);
    };
    return improveCut(std::move(from), measure, {}, tries(schedule));
  }

  // Cuts that are simulated: fewer where each takes longer, so that a choice ends soon on any number of
  // ranks.
  static int64_t tries(const Schedule &schedule) {
    int64_t actions = 0;
    for (const ActionList &list : schedule.ranks)
      actions += int64_t(list.size());
    return std::clamp<int64_t>(int64_t(2000000) / std::max<int64_t>(actions * schedule.numRanks(), 1), 1,
                               2000);
  }

  const std::function<PipelineModel(int32_t)> &model_;
  const ChoiceLimits &limits_;
};
} // namespace

Result<Choice> choosePipeline(const std::function<PipelineModel(int32_t)> &model,
                              const ChoiceLimits &limits) {
  const char *what = "cannot choose a pipeline schedule";
  Chooser chooser(model, limits);
  chooser.run();
  if (chooser.plans.empty())
    return Failure{what, "",
                   chooser.refusal.empty() ? "no schedule has such numbers of stages" : chooser.refusal, ""};
  Choice choice;
  bool found = false;
  for (Plan &plan : chooser.plans) {
    if (limits.bytes > 0 && plan.mostBytes() > limits.bytes)
      continue;
    if (!found) {
      choice.best = plan;
      found = true;
    } else if (plan.toString() != choice.best.toString()) {
      choice.runnerUp = plan;
      break;
    }
  }
  if (found)
    return choice;
  auto least = std::min_element(chooser.plans.begin(), chooser.plans.end(),
                                [](const Plan &a, const Plan &b) { return a.mostBytes() < b.mostBytes(); });
  char bytes[64];
  snprintf(bytes, sizeof(bytes), "%.0f", least->mostBytes());
  return Failure{what, "", "no schedule fits into " + std::to_string(int64_t(limits.bytes)) + " bytes a rank",
                 "the least that would is " + std::string(bytes) + ", with " + least->toString()};
}

} // namespace tessera::schedule
