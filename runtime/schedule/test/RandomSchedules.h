// Schedules drawn at random: any placement, any order, backwards whole or split, pairs; valid by
// construction, because actions are drawn one by one of those whose inputs are there.
#ifndef TESSERA_SCHEDULE_TEST_RANDOMSCHEDULES_H
#define TESSERA_SCHEDULE_TEST_RANDOMSCHEDULES_H

#include "tessera/runtime/schedule/Simulate.h"

#include <algorithm>
#include <random>

namespace tessera::schedule {

class RandomSchedules {
public:
  explicit RandomSchedules(uint32_t seed) : random_(seed) {}

  int32_t below(int32_t bound) { return int32_t(random_() % uint32_t(bound)); }

  Schedule next(int32_t mostRanks = 6, int32_t mostMicroBatches = 6) {
    Schedule schedule;
    int32_t ranks = 1 + below(mostRanks), stages = ranks + below(2 * ranks);
    schedule.microBatches = 1 + below(mostMicroBatches);
    schedule.ranks.resize(size_t(ranks));
    for (int32_t stage = 0; stage < stages; ++stage) // every rank has one
      schedule.rankOfStage.push_back(stage < ranks ? stage : below(ranks));
    std::shuffle(schedule.rankOfStage.begin(), schedule.rankOfStage.end(), random_);
    fill(schedule);
    return schedule;
  }

  // Durations of whole numbers, so that sums are exact.
  Costs costs(const Schedule &schedule, bool pairs) {
    Costs costs;
    for (auto *list : {&costs.forward, &costs.backwardInput, &costs.backwardWeight, &costs.pair})
      list->clear();
    costs.link.clear();
    for (int32_t stage = 0; stage < schedule.numStages(); ++stage) {
      costs.forward.push_back(1 + below(9));
      costs.backwardInput.push_back(1 + below(9));
      costs.backwardWeight.push_back(1 + below(9));
      costs.link.push_back(below(4));
      if (pairs)
        costs.pair.push_back(1 + below(15));
    }
    return costs;
  }

private:
  // Draws an action that may come next until none is left.
  void fill(Schedule &schedule) {
    const int32_t stages = schedule.numStages(), m = schedule.microBatches;
    std::vector<std::vector<int>> state(size_t(stages), std::vector<int>(size_t(m), 0)); // 0, F, I, all
    int split = below(3); // never, at times, always
    while (true) {
      std::vector<Action> ready;
      for (int32_t s = 0; s < stages; ++s)
        for (int32_t i = 0; i < m; ++i) {
          auto of = [&](int32_t stage) { return state[size_t(stage)][size_t(i)]; };
          if (of(s) == 0 && (s == 0 || of(s - 1) > 0))
            ready.push_back({Kind::Forward, s, i});
          if (of(s) == 1 && (s + 1 == stages || of(s + 1) > 1))
            ready.push_back(
                {split == 2 || (split == 1 && below(2)) ? Kind::BackwardInput : Kind::Backward, s, i});
          if (of(s) == 2)
            ready.push_back({Kind::BackwardWeight, s, i});
        }
      if (ready.empty())
        return;
      Action action = ready[size_t(below(int32_t(ready.size())))];
      int32_t rank = schedule.rankOfStage[size_t(action.stage)];
      if (action.kind == Kind::Forward && below(4) == 0)
        for (const Action &other : ready)
          if (other.kind == Kind::Backward && schedule.rankOfStage[size_t(other.stage)] == rank) {
            action.pairedStage = other.stage;
            action.pairedMicroBatch = other.microBatch;
            break;
          }
      schedule.ranks[size_t(rank)].push_back(action);
      for (const Action &part : partsOf(action))
        state[size_t(part.stage)][size_t(part.microBatch)] = part.kind == Kind::Forward         ? 1
                                                             : part.kind == Kind::BackwardInput ? 2
                                                                                                : 3;
    }
  }

  std::mt19937 random_;
};

} // namespace tessera::schedule
#endif
