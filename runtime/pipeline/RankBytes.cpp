#include "tessera/runtime/pipeline/RankBytes.h"

#include <algorithm>

namespace tessera::runtime {

SlotBytes bytesOfSlots(const SlotPlan &plan, const StageBytes &stage) {
  SlotBytes bytes;
  bytes.moreSlots = bytesBesideArena(plan, stage.slots);
  bytes.keptMessages = plan.of(Slot::Whole).slots * int64_t(stage.kept.value) +
                       plan.of(Slot::FromInputGradient).slots * int64_t(stage.kept.gradient);
  return bytes;
}

int64_t bytesOfValues(const std::vector<StepTraffic> &steps, int64_t at) {
  size_t most = 0;
  for (const StepTraffic &step : steps)
    most = std::max(most, planBuffers(*step.lists, int32_t(at), step.sizes, step.sendBuffers).bytes);
  return int64_t(most);
}

RankBytes bytesOfRank(const std::vector<StageBytes> &stages, const std::vector<StepTraffic> &steps,
                      int64_t at) {
  const schedule::Schedule &lists = *steps.front().lists;
  RankBytes rank;
  for (size_t number = 0; number < stages.size(); ++number) {
    if (lists.rankOfStage[number] != at)
      continue;
    const StageBytes &stage = stages[number];
    const SlotBytes slots =
        bytesOfSlots(planSlots(lists.ranks[size_t(at)], int32_t(number), lists.microBatches), stage);
    rank.weights += stage.weights;
    rank.arenas += stage.arena;
    rank.moreSlots += slots.moreSlots;
    rank.keptMessages += slots.keptMessages;
    rank.shared += 2 * stage.shared;
  }
  rank.values = bytesOfValues(steps, at);
  return rank;
}

RankBytes bytesOfRank(const StageBytes &stage, const GeneratingTraffic &traffic) {
  RankBytes rank;
  rank.weights = stage.weights;
  rank.arenas = stage.arena;
  rank.moreSlots = (traffic.groups - 1) * stage.slots[size_t(Slot::Whole)];
  rank.values = traffic.values();
  rank.tokens = traffic.ring();
  rank.outputs = traffic.groups * traffic.outputs;
  return rank;
}

} // namespace tessera::runtime
