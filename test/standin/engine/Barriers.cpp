#include "Functions.h"
#include "Races.h"

namespace standin {

// Every thread of the block counts, those that have ended too: CUDA leaves it undefined to wait for them.
extern "C" uint32_t standin_barrier(Thread *thread, uint32_t id, uint32_t count, uint32_t predicate,
                                    uint32_t kind, uint32_t aligned, uint32_t site) {
  Block &block = *thread->owner;
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
  if (aligned) { // all lanes of a warp are at the same instruction
    const Warp &warp = block.warps[thread->warp];
    for (uint32_t i = 0; i < kWarp; ++i)
      if (warp.exists >> i & 1) {
        const Thread &lane = block.lane(warp, i);
        if (lane.wait == Wait::Barrier && (lane.site != site || lane.barrier != id))
          fail(*thread, Finding::Kind::Synchronization,
               "lanes of a warp are at different barriers (" + whereIs(*thread) + "): at " +
                   textOf(block, site) + ", " + threadName(block, lane.index) + " at " +
                   textOf(block, lane.site));
      }
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
    for (uint32_t i = 0; i < block.threadCount; ++i)
      if (Thread &other = block.threads[i]; other.wait == Wait::Barrier && other.barrier == id)
        wake(other);
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
