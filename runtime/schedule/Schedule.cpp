#include "tessera/runtime/schedule/Schedule.h"

#include <algorithm>
#include <map>

namespace tessera::schedule {

std::optional<Action> receiveFor(const Schedule &schedule, const Action &part) {
  if (part.kind == Kind::Forward && schedule.crosses(part.stage, part.stage - 1))
    return Action{Kind::ReceiveForward, part.stage, part.microBatch};
  if (givesInputGradient(part.kind) && schedule.crosses(part.stage, part.stage + 1))
    return Action{Kind::ReceiveBackward, part.stage, part.microBatch};
  return std::nullopt;
}

std::optional<Action> sendAfter(const Schedule &schedule, const Action &part) {
  if (part.kind == Kind::Forward && schedule.crosses(part.stage, part.stage + 1))
    return Action{Kind::SendForward, part.stage, part.microBatch};
  if (givesInputGradient(part.kind) && schedule.crosses(part.stage, part.stage - 1))
    return Action{Kind::SendBackward, part.stage, part.microBatch};
  return std::nullopt;
}

// How many keys there are from 0 on without a gap.
template <typename Value> static int32_t withoutGap(const std::map<int32_t, Value> &keys) {
  int32_t count = 0;
  for (const auto &entry : keys)
    count += entry.first == count;
  return count;
}

Schedule scheduleOf(std::vector<ActionList> ranks, int32_t microBatches, int32_t stages) {
  std::map<int32_t, std::map<int32_t, int32_t>> actionsOf; // stage, rank: how many
  std::map<int32_t, bool> microBatchesSeen;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (const Action &action : ranks[rank])
      for (const Action &part : partsOf(action))
        if (computes(part.kind)) {
          ++actionsOf[part.stage][int32_t(rank)];
          microBatchesSeen[part.microBatch] = true;
        }
  Schedule schedule;
  schedule.microBatches = microBatches == kNone ? withoutGap(microBatchesSeen) : microBatches;
  schedule.rankOfStage.assign(size_t(stages == kNone ? withoutGap(actionsOf) : stages), 0);
  for (size_t stage = 0; stage < schedule.rankOfStage.size(); ++stage) {
    int32_t most = 0;
    for (const auto &[rank, count] : actionsOf[int32_t(stage)])
      if (count > most) {
        most = count;
        schedule.rankOfStage[stage] = rank;
      }
  }
  schedule.ranks = std::move(ranks);
  return schedule;
}

Schedule forwardsOf(const Schedule &schedule) {
  Schedule result = schedule;
  for (ActionList &list : result.ranks) {
    ActionList forwards;
    for (const Action &action : list)
      for (const Action &part : partsOf(action))
        if (part.kind == Kind::Forward)
          forwards.push_back(part);
    list = std::move(forwards);
  }
  return result;
}

} // namespace tessera::schedule
