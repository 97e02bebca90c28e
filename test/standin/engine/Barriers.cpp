#include "Functions.h"
#include "Races.h"

namespace standin {

// Every thread of the block counts, those that have ended too: CUDA leaves it undefined to wait for them.
extern "C" uint32_t standin_barrier(Thread *thread, uint32_t id, uint32_t count, uint32_t predicate,
                                    uint32_t kind, uint32_t aligned, uint32_t site) {
  Block &block = *thread->owner();
  if (id >= 16)
    fail(*thread, Finding::Kind::Synchronization,
         "no such barrier (" + whereIs(*thread) + "): number " + std::to_string(id) + " at " +
             textOf(block, site) + "; there are 16");
  Barrier &barrier = block.barriers[id];
  uint32_t expected = count ? count : block.threadCount;
  if (count % kWarp)
    fail(*thread, Finding::Kind::Synchronization,
         "bad number of threads for a barrier (" + whereIs(*thread) + "): " + std::to_string(count) + " at " +
             textOf(block, site) + " is no multiple of 32");
  if (barrier.arrived == 0) {
    barrier.expected = expected;
    barrier.count = 0;
    barrier.site = site;
  } else if (barrier.expected != expected) {
    fail(*thread, Finding::Kind::Synchronization,
         "threads disagree about a barrier (" + whereIs(*thread) + "): barrier " + std::to_string(id) +
             " is for " + std::to_string(expected) + " threads at " + textOf(block, site) + ", for " +
             std::to_string(barrier.expected) + " at " + textOf(block, barrier.site));
  }
  Warp &warp = block.warps[thread->warp];
  if (aligned && warp.atBarrier) { // all lanes of a warp are at the same instruction
    const Thread &lane = block.lane(warp, __builtin_ctz(warp.atBarrier));
    if (lane.site != site || lane.barrier != id)
      fail(*thread, Finding::Kind::Synchronization,
           "lanes of a warp are at different barriers (" + whereIs(*thread) + "): at " + textOf(block, site) +
               ", " + threadName(block, lane.index()) + " at " + textOf(block, lane.site));
  }
  ++barrier.arrived;
  barrier.count += predicate != 0;
  if (block.races)
    block.races->arrive(*thread, id);
  if (barrier.arrived < barrier.expected) {
    if (kind == kBarrierArrive)
      return 0;
    thread->wait = Wait::Barrier;
    thread->barrier = id;
    thread->site = site;
    warp.atBarrier |= 1u << thread->lane;
    suspend(*thread);
  } else {
    if (barrier.arrived > barrier.expected)
      fail(*thread, Finding::Kind::Synchronization,
           "too many threads at a barrier (" + whereIs(*thread) + "): " + textOf(block, site));
    barrier.trues = barrier.count;
    barrier.of = barrier.expected;
    barrier.arrived = 0;
    if (block.races)
      block.races->complete(block, id);
    for (uint32_t w = 0; w < block.warpCount; ++w) {
      Warp &others = block.warps[w];
      uint32_t woken = 0;
      for (uint32_t left = others.atBarrier; left; left &= left - 1)
        if (block.lane(others, __builtin_ctz(left)).barrier == id)
          woken |= left & -left;
      others.atBarrier &= ~woken;
      wakeLanes(block, others, woken);
    }
  }
  if (block.races && kind != kBarrierArrive)
    block.races->leave(*thread, id);
  switch (kind) {
  case kBarrierPopulation:
    return barrier.trues;
  case kBarrierAnd:
    return barrier.trues == barrier.of;
  case kBarrierOr:
    return barrier.trues != 0;
  }
  return 0;
}

} // namespace standin
