//===- PipelineMemory.cpp -------------------------------------------------===//
#include "PipelineMemory.h"

#include "tessera/runtime/pipeline/Executor.h"
#include "tessera/runtime/pipeline/SlotPlan.h"

using namespace llvm;

namespace tessera {

/// As the runtime's describePipeline adds it up.
static RankMemory memoryAt(const std::vector<StageFigures> &stages, const CompileOptions &options,
                           const schedule::Schedule *lists, int64_t at) {
  RankMemory memory;
  for (auto [number, stage] : enumerate(stages)) {
    if (options.stageCoordinates[number] != at)
      continue;
    runtime::SlotPlan plan;
    if (lists)
      plan = runtime::planSlots(lists->ranks[size_t(at)], int32_t(number), lists->microBatches);
    else
      for (runtime::SlotPlan::Kind &kind : plan.kinds)
        kind.slots = int32_t(options.microBatches);
    memory.weights += int64_t(stage.of(Figure::Weights));
    memory.shared += 2 * stage.shared;
    memory.arenas += int64_t(stage.of(Figure::Arena));
    for (size_t kind = 0; kind < plan.kinds.size(); ++kind) {
      const auto slot = int64_t(stage.all[size_t(Figure::Slot) + kind]);
      memory.arenas += slot;
      memory.slots += (plan.kinds[kind].slots - 1) * slot;
    }
    if (stage.keepsReceived)
      memory.slots += plan.of(runtime::Slot::Whole).slots * stages[number - 1].sent;
    if (stage.keepsGradient)
      memory.slots += plan.of(runtime::Slot::FromInputGradient).slots * stages[number + 1].sentBack;
  }
  if (!lists) { // a stage a rank: what comes for one call, and what is on its way
    memory.values =
        (at > 0 ? stages[size_t(at) - 1].sent : 0) + options.sendBuffers * stages[size_t(at)].sent;
    return memory;
  }
  runtime::ValueSizes sizes;
  for (size_t stage = 0; stage + 1 < stages.size(); ++stage) {
    sizes.forward.push_back(size_t(stages[stage].sent));
    sizes.backward.push_back(size_t(stages[stage + 1].sentBack));
  }
  memory.values =
      int64_t(runtime::planBuffers(*lists, int32_t(at), sizes, int32_t(options.sendBuffers)).bytes);
  return memory;
}

RankMemory memoryOfRanks(const std::vector<StageFigures> &stages, const CompileOptions &options,
                         const schedule::Schedule *lists) {
  RankMemory most;
  for (int64_t at : options.stageCoordinates)
    if (RankMemory memory = memoryAt(stages, options, lists, at); memory.total() > most.total())
      most = memory;
  return most;
}

static std::string partsText(const RankMemory &memory) {
  std::string text =
      "weights and states " + std::to_string(memory.weights) + ", arenas " + std::to_string(memory.arenas);
  if (memory.slots)
    text += ", more micro-batches " + std::to_string(memory.slots);
  if (memory.values)
    text += ", values between stages " + std::to_string(memory.values);
  if (memory.shared)
    text += ", gradients of shared weights " + std::to_string(memory.shared);
  return text;
}

Failure doesNotFit(const CompileOptions &options, const RankMemory &least) {
  std::string total = std::to_string(least.total());
  return {"does not fit", "--memory=" + std::to_string(options.memory),
          "needs at least " + total + " bytes a rank: " + partsText(least),
          "give --memory=" + total + ", a larger mesh, or a smaller --batch or --max-seq-len"};
}

std::string describeMemory(const CompileOptions &options, const RankMemory &memory) {
  return std::to_string(memory.total()) + " of " + std::to_string(options.memory) +
         " bytes of a rank: " + partsText(memory);
}

} // namespace tessera
