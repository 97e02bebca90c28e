//===- PipelineMemory.cpp -------------------------------------------------===//
#include "PipelineMemory.h"

#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Planner/PipelinePlan.h"
#include "tessera/runtime/pipeline/EvaluationLists.h"

#include <algorithm>

using namespace llvm;

namespace tessera {

using runtime::RankBytes;
using runtime::StageBytes;

/// As much as any kind of step keeps of messages.
static runtime::KeptMessages keptMessages(const std::vector<StageFigures> &stages, size_t number) {
  runtime::KeptMessages kept;
  for (graph::Role role : {graph::Role::Train, graph::Role::TrainDropout}) {
    const StageFigures::Messages &own = stages[number].of(role);
    if (own.keepsReceived)
      kept.value = std::max(kept.value, size_t(stages[number - 1].of(role).sent));
    if (own.keepsGradient)
      kept.gradient = std::max(kept.gradient, size_t(stages[number + 1].of(role).sentBack));
  }
  return kept;
}

static std::vector<StageBytes> bytesOfStages(const std::vector<StageFigures> &stages) {
  std::vector<StageBytes> all;
  for (auto [number, stage] : enumerate(stages)) {
    StageBytes bytes;
    bytes.weights = int64_t(stage.of(Figure::Weights));
    bytes.arena = int64_t(stage.of(Figure::Arena));
    for (size_t kind = 0; kind < bytes.slots.size(); ++kind) {
      bytes.slots[kind] = int64_t(stage.all[size_t(Figure::Slot) + kind]);
      bytes.arena += bytes.slots[kind]; // the first ones lie there
    }
    bytes.kept = keptMessages(stages, number);
    bytes.shared = stage.shared;
    all.push_back(bytes);
  }
  return all;
}

static runtime::ValueSizes sizesOf(const std::vector<StageFigures> &stages, graph::Role role) {
  runtime::ValueSizes sizes;
  for (size_t stage = 0; stage + 1 < stages.size(); ++stage) {
    sizes.forward.push_back(size_t(stages[stage].of(role).sent));
    sizes.backward.push_back(size_t(stages[stage + 1].of(role).sentBack));
  }
  return sizes;
}

/// Of the kinds of steps that the stages have.
static std::vector<runtime::StepTraffic> trafficOf(const std::vector<StageFigures> &stages,
                                                   const CompileOptions &options,
                                                   const schedule::Schedule &lists,
                                                   const runtime::EvaluationLists &evaluation) {
  auto has = [&](graph::Role role) {
    return any_of(stages, [&](const StageFigures &stage) { return stage.messages.count(role) > 0; });
  };
  std::vector<runtime::StepTraffic> steps;
  for (graph::Role role : {graph::Role::Train, graph::Role::TrainDropout})
    if (has(role))
      steps.push_back({&lists, sizesOf(stages, role), int32_t(options.sendBuffers)});
  if (has(graph::Role::Evaluate))
    steps.push_back({&evaluation.lists, sizesOf(stages, graph::Role::Evaluate), evaluation.sendBuffers});
  return steps;
}

static runtime::GeneratingTraffic generatingTraffic(const std::vector<StageFigures> &stages, size_t number,
                                                    const CompileOptions &options) {
  auto mostSent = [](const StageFigures &stage) {
    return std::max(stage.of(graph::Role::Prompt).sent, stage.of(graph::Role::Next).sent);
  };
  runtime::GeneratingTraffic traffic;
  traffic.groups = options.microBatches;
  traffic.received = number > 0 ? mostSent(stages[number - 1]) : 0;
  traffic.sent = mostSent(stages[number]);
  traffic.sendBuffers = options.sendBuffers;
  traffic.tokens = stages.back().tokens;
  traffic.tokensAhead = options.groupRows + 1;
  traffic.outputs = stages[number].outputs;
  return traffic;
}

RankMemory memoryOfRanks(const std::vector<StageFigures> &stages, const CompileOptions &options,
                         const schedule::Schedule *lists) {
  const std::vector<StageBytes> bytes = bytesOfStages(stages);
  std::vector<RankBytes> ranks;
  if (lists) {
    const runtime::EvaluationLists evaluation = runtime::evaluationLists(*lists);
    const std::vector<runtime::StepTraffic> steps = trafficOf(stages, options, *lists, evaluation);
    for (int32_t at = 0; at < lists->numRanks(); ++at)
      ranks.push_back(runtime::bytesOfRank(bytes, steps, at));
  } else {
    for (size_t at = 0; at < stages.size(); ++at)
      ranks.push_back(runtime::bytesOfRank(bytes[at], generatingTraffic(stages, at, options)));
  }
  return *std::max_element(ranks.begin(), ranks.end(),
                           [](const RankBytes &a, const RankBytes &b) { return a.total() < b.total(); });
}

std::vector<std::vector<std::string>> idleAxesOfStages(const std::vector<StageFigures> &stages,
                                                       const CompileOptions &options) {
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  std::vector<std::pair<int64_t, std::vector<std::string>>> sets = {{1, {}}};
  for (const MeshAxis &axis : mesh->axes) {
    if (axis.size == 1 || axis.name == kPipelineAxis ||
        any_of(stages, [&](const StageFigures &stage) { return stage.axesOfWeights.count(axis.name) > 0; }))
      continue;
    for (size_t without = sets.size(), i = 0; i < without; ++i) {
      auto [ranks, axes] = sets[i];
      axes.push_back(axis.name);
      sets.emplace_back(ranks * axis.size, std::move(axes));
    }
  }
  sets.erase(sets.begin());
  stable_sort(sets, [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<std::vector<std::string>> all;
  for (auto &[ranks, axes] : sets)
    all.push_back(std::move(axes));
  return all;
}

static std::string partsText(const CompileOptions &options, const RankMemory &memory) {
  std::string text = (options.task == Task::Train ? "weights and states " : "weights ") +
                     std::to_string(memory.weights) + ", arenas " + std::to_string(memory.arenas);
  for (auto [bytes, what] :
       {std::pair(memory.moreSlots,
                  options.task == Task::Train ? "more micro-batches" : "other groups of rows"),
        {memory.keptMessages, "messages kept"},
        {memory.values, "values between stages"},
        {memory.shared, "gradients of shared weights"},
        {memory.tokens, "tokens on their way"},
        {memory.outputs, "outputs kept"}})
    if (bytes > 0)
      text += std::string(", ") + what + " " + std::to_string(bytes);
  return text;
}

Failure doesNotFit(const CompileOptions &options, const RankMemory &least) {
  std::string total = std::to_string(least.total());
  return {"does not fit", "--memory=" + std::to_string(options.memory),
          "needs at least " + total + " bytes a rank: " + partsText(options, least),
          "give --memory=" + total + ", a larger mesh, or a smaller --batch or --max-seq-len"};
}

std::string describeMemory(const CompileOptions &options, const RankMemory &memory) {
  return std::to_string(memory.total()) + " of " + std::to_string(options.memory) +
         " bytes of a rank: " + partsText(options, memory);
}

} // namespace tessera
