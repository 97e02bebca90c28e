#include "tessera/runtime/schedule/Choose.h"

#include "tessera/runtime/schedule/Lower.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

namespace tessera::schedule {

double Plan::mostBytes() const { return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end()); }

std::string Plan::toString() const {
  std::string text = schedule + ", " + std::to_string(microBatches) + " micro-batches, cut ";
  for (size_t stage = 0; stage < sizes.size(); ++stage)
    text += (stage ? "," : "") + std::to_string(sizes[stage]);
  return text;
}

bool isBefore(const Plan &a, const Plan &b) {
  constexpr double kAlike = 0.01;
  auto order = [](const Plan &plan) {
    // Behind what decides: of equal plans always the same one first.
    return std::make_tuple(std::floor(std::log(std::max(plan.seconds, 1e-30)) / std::log1p(kAlike)),
                           plan.sizes.size(), plan.mostBytes(), plan.seconds, plan.microBatches,
                           std::cref(plan.schedule), std::cref(plan.sizes));
  };
  return order(a) < order(b);
}

// What people call it.
static std::string titleOf(Name name, int32_t stagesPerRank) {
  std::string text(scheduleName(name));
  return takesStagesPerRank(name) ? text + ":" + std::to_string(stagesPerRank) : text;
}

Result<Schedule> generate(const Plan &plan, int32_t ranks) {
  return generate(*plan.name, ranks, plan.microBatches,
                  takesStagesPerRank(*plan.name) ? plan.stagesPerRank : 0);
}

Costs costsOf(const PipelineModel &model, const StageSizes &sizes) {
  Costs costs;
  costs.forward = stageCosts(model.forward, sizes);
  costs.backwardInput = stageCosts(model.backwardInput, sizes);
  costs.backwardWeight = stageCosts(model.backwardWeight, sizes);
  costs.link = {model.link};
  costs.wire = {model.wire};
  costs.hold = stageCosts(model.saved, sizes);
  costs.freed = stageCosts(model.freed, sizes);
  costs.made = model.made.layers.empty() ? std::vector<double>{0} : stageCosts(model.made, sizes);
  return costs;
}

std::vector<double> bytesOfRanks(const PipelineModel &model, const StageSizes &sizes,
                                 const Schedule &schedule, int32_t *sendBuffers) {
  Costs costs = costsOf(model, sizes);
  std::vector<double> weights = stageCosts(model.weights, sizes);
  std::vector<double> bytes(size_t(schedule.numRanks()), model.rankBytes);
  for (int32_t stage = 0; stage < schedule.numStages(); ++stage)
    bytes[size_t(schedule.rankOfStage[size_t(stage)])] += weights[size_t(stage)];
  Schedule lists = lower(schedule, Lowering::Late);
  std::vector<Held> held = heldAtMost(lists, costs);
  int32_t sends = leastSendBuffersWithoutDelay(lists, costs, sendBuffers ? *sendBuffers : 0);
  if (sendBuffers)
    *sendBuffers = sends;
  for (size_t rank = 0; rank < bytes.size(); ++rank)
    bytes[rank] += held[rank].bytes + (held[rank].receives + std::max(0, sends)) * model.messageBytes;
  return bytes;
}

bool splitsBackward(const Schedule &schedule) {
  for (const ActionList &list : schedule.ranks)
    for (const Action &action : list)
      for (const Action &part : computes(action.kind) ? partsOf(action) : Parts())
        if (part.kind == Kind::BackwardInput || part.kind == Kind::BackwardWeight)
          return true;
  return false;
}

StepCosts stepCostsOf(const PipelineModel &model, const StageSizes &sizes, const Schedule &schedule) {
  StepCosts costs;
  costs.costs = costsOf(model, sizes);
  if (!model.once.layers.empty())
    costs.once = stageCosts(model.once, sizes);
  costs.shared.resize(sizes.size());
  if (schedule.crosses(0, schedule.numStages() - 1))
    costs.shared.front() = costs.shared.back() = model.shared;
  return costs;
}

double stepSeconds(const PipelineModel &model, const StageSizes &sizes, const Schedule &schedule) {
  return predictStep(schedule, stepCostsOf(model, sizes, schedule)).seconds();
}

namespace {
class Chooser {
public:
  Chooser(const ModelOf &model, const ChoiceLimits &limits, KnownCuts &known)
      : model_(model), limits_(limits), known_(known) {}

  std::vector<Plan> plans;
  std::string refusal; // of the last schedule that does not have such sizes

  void run() {
    if (limits_.given) {
      Plan plan;
      plan.schedule = limits_.givenName;
      plan.stagesPerRank = limits_.given->numStages() / limits_.ranks;
      add(*limits_.given, plan);
    }
    for (int32_t m : limits_.microBatches)
      for (int name = 0; name < kNamedSchedules && !limits_.given; ++name)
        if (!limits_.name || *limits_.name == Name(name))
          for (int32_t v : stagesPerRank(Name(name))) {
            Plan plan;
            plan.name = Name(name);
            plan.schedule = titleOf(Name(name), v);
            plan.stagesPerRank = v;
            plan.microBatches = m;
            Result<Schedule> made = generate(plan, limits_.ranks);
            if (made)
              add(*made, plan);
            else
              refusal = made.failure().why + "; " + made.failure().hint;
          }
    std::sort(plans.begin(), plans.end(), isBefore);
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

  void add(const Schedule &schedule, Plan plan) {
    const PipelineModel model = model_(schedule.microBatches, splitsBackward(schedule));
    CutsOfSchedule &known = known_[{plan.schedule, schedule.microBatches}];
    auto seconds = [&](const StageSizes &sizes) {
      std::optional<double> &found = known.costs[sizes].seconds;
      if (!found)
        found = stepSeconds(model, sizes, schedule);
      return *found;
    };
    auto bytes = [&](const StageSizes &sizes) {
      std::optional<double> &found = known.costs[sizes].bytes;
      if (!found) {
        std::vector<double> ranks = bytesOfRanks(model, sizes, schedule, &known.sendBuffers);
        found = *std::max_element(ranks.begin(), ranks.end()) - model.rankBytes;
      }
      return *found + model.rankBytes;
    };
    std::vector<StageSizes> candidates;
    if (limits_.sizes) {
      candidates.push_back(*limits_.sizes);
    } else {
      candidates.push_back(shortest(model, schedule, seconds));
      // What is shortest may not fit: from there, and from the evenest weights, to what does.
      if (limits_.bytes > 0 && bytes(candidates.front()) > limits_.bytes)
        for (StageSizes from : {candidates.front(), cutLayers(model.weights, schedule.numStages()).take()})
          candidates.push_back(fitting(schedule, seconds, bytes, std::move(from)));
    }
    for (StageSizes &sizes : candidates) {
      plan.microBatches = schedule.microBatches;
      plan.sizes = std::move(sizes);
      plan.seconds = seconds(plan.sizes);
      plan.bytes = bytesOfRanks(model, plan.sizes, schedule);
      plans.push_back(plan);
    }
  }

  using Measure = std::function<double(const StageSizes &)>;
  StageSizes shortest(const PipelineModel &model, const Schedule &schedule, const Measure &seconds) const {
    LayerCosts sum = plus(plus(model.forward, model.backwardInput), model.backwardWeight);
    // Without a condition there is always a cut.
    return improveCut(cutLayers(sum, schedule.numStages()).take(), seconds, {}, tries(schedule));
  }

  // What is over the limit is worse than any time.
  StageSizes fitting(const Schedule &schedule, const Measure &seconds, const Measure &bytes,
                     StageSizes from) const {
    double longest = seconds(from) * 1e3;
    auto measure = [&](const StageSizes &sizes) {
      double over = bytes(sizes) / limits_.bytes - 1;
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

  const ModelOf &model_;
  const ChoiceLimits &limits_;
  KnownCuts &known_;
};
} // namespace

Result<std::vector<Plan>> pipelinePlans(const ModelOf &model, const ChoiceLimits &limits, KnownCuts *known) {
  KnownCuts own;
  Chooser chooser(model, limits, known ? *known : own);
  chooser.run();
  if (chooser.plans.empty())
    return Failure{"cannot choose a pipeline schedule",
                   limits.name ? "--pipeline=" + std::string(scheduleName(*limits.name)) : "",
                   chooser.refusal.empty() ? "no schedule has such numbers of stages" : chooser.refusal, ""};
  return std::move(chooser.plans);
}

std::optional<Plan> pinnedPlan(const ChoiceLimits &limits) {
  if ((!limits.name && !limits.given) || !limits.sizes || limits.microBatches.size() != 1)
    return std::nullopt;
  Plan plan;
  plan.stagesPerRank = int32_t(limits.sizes->size()) / limits.ranks;
  if (!limits.given)
    plan.name = limits.name;
  plan.schedule = limits.given ? limits.givenName : titleOf(*limits.name, plan.stagesPerRank);
  plan.microBatches = limits.microBatches.front();
  plan.sizes = *limits.sizes;
  return plan;
}

} // namespace tessera::schedule
