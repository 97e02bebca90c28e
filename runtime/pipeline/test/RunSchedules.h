// Random schedules run by the executor: the same on every rank, whatever ranks are.
#ifndef TESSERA_RUNTIME_PIPELINE_TEST_RUNSCHEDULES_H
#define TESSERA_RUNTIME_PIPELINE_TEST_RUNSCHEDULES_H

#include "../../schedule/test/RandomSchedules.h"
#include "../../test/PostingStream.h"
#include "CheckedWork.h"
#include "tessera/runtime/schedule/Lower.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace tessera::runtime {

// A schedule with its messages, and what they need.
struct RandomRun {
  schedule::Schedule schedule;
  ValueSizes sizes;
  schedule::LeastBuffers least;

  // Values have at least `leastBytes`: with more than transports copy, a send waits for its receiver.
  RandomRun(schedule::RandomSchedules &random, int32_t mostRanks, size_t leastBytes, size_t mostBytes) {
    using schedule::Lowering;
    Lowering lowerings[] = {Lowering::Late, Lowering::Eager, Lowering::Full};
    schedule = schedule::lower(random.next(mostRanks), lowerings[random.below(3)], 2);
    // Entries of stages see to their weights.
    for (schedule::ActionList &list : schedule.ranks)
      list.erase(std::remove_if(list.begin(), list.end(),
                                [](const schedule::Action &a) { return schedule::ofWholeStage(a.kind); }),
                 list.end());
    least = schedule::leastSendBuffers(schedule);
    auto draw = [&] {
      return leastBytes + size_t(random.below(int32_t(mostBytes - leastBytes) / 8 + 1)) * 8;
    };
    for (int32_t stage = 0; stage + 1 < schedule.numStages(); ++stage) {
      sizes.forward.push_back(draw());
      sizes.backward.push_back(draw());
    }
  }
  int32_t buffers() const { return std::max(1, least.withoutDeadlock); }
};

// On one rank of the pipeline; the others do the same. Failures are reported through GoogleTest.
inline void runOnRank(const RandomRun &run, int32_t sendBuffers, Communicator &communicator,
                      int32_t where = 0) {
  PostingDevice device;
  PostingStream stream;
  std::vector<int64_t> ranks;
  for (int32_t r = 0; r < run.schedule.numRanks(); ++r)
    ranks.push_back(r);
  auto rank = int32_t(communicator.rank());
  CheckedWork work(run.schedule, run.sizes);
  {
    PipelineExecutor executor(run.schedule, rank, ranks, run.sizes, sendBuffers, communicator, device, where);
    executor.run(work, stream);
    executor.run(work, stream); // a step follows another
  }
  communicator.expectAllWaitedFor();
  int64_t actions = 0;
  for (const schedule::Action &action : run.schedule.ranks[size_t(rank)])
    actions += schedule::computes(action.kind) ? schedule::partsOf(action).count : 0;
  EXPECT_EQ(work.complaint, "");
  EXPECT_EQ(work.computed, 2 * actions);
}

} // namespace tessera::runtime
#endif
