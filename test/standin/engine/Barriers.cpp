#include "Functions.h"
#include "Races.h"

namespace standin {

enum class Fault { Number, Count, Disagree, Places };

// Apart, so that the way on which nothing is wrong is short.
[[noreturn]] __attribute__((noinline, cold)) static void
barrierFault(Thread &thread, Fault fault, uint32_t id, uint32_t count, uint32_t site) {
  Block &block = *thread.owner();
  const Barrier &barrier = block.barriers[id % 16];
  std::string where = " (" + whereIs(thread) + "): ", here = " at " + std::string(textOf(block, site)), text;
  switch (fault) {
  case Fault::Number:
    text = "no such barrier" + where + "number " + std::to_string(id) + here + "; there are 16";
    break;
  case Fault::Count:
    text = "bad number of threads for a barrier" + where + std::to_string(count) + here +
           " is no multiple of 32";
    break;
  case Fault::Disagree:
    text = "threads disagree about a barrier" + where + "barrier " + std::to_string(id) + " is for " +
           std::to_string(count) + " threads" + here + ", for " + std::to_string(barrier.expected) + " at " +
           textOf(block, barrier.site);
    break;
  case Fault::Places: {
    Warp &warp = block.warps[thread.warp];
    const Thread &lane = block.lane(warp, __builtin_ctz(warp.atBarrier));
    text = "lanes of a warp are at different barriers" + where + here.substr(1) + ", " +
           threadName(block, lane.index()) + " at " + textOf(block, lane.site);
  }
  }
  fail(thread, Finding::Kind::Synchronization, text);
}

// Every thread of the block counts, those that have ended too: CUDA leaves it undefined to wait for them.
extern "C" uint32_t standin_barrier(Thread *thread, uint32_t id, uint32_t count, uint32_t predicate,
                                    uint32_t kind, uint32_t aligned, uint32_t site) {
  Block &block = *thread->owner();
  if (id >= 16)
    barrierFault(*thread, Fault::Number, id, count, site);
  Barrier &barrier = block.barriers[id];
  uint32_t expected = count ? count : block.threadCount;
  if (count % kWarp)
    barrierFault(*thread, Fault::Count, id, count, site);
  if (barrier.arrived == 0) {
    barrier.expected = expected;
    barrier.count = 0;
    barrier.site = site;
  } else if (barrier.expected != expected) {
    barrierFault(*thread, Fault::Disagree, id, expected, site);
  }
  Warp &warp = block.warps[thread->warp];
  if (aligned && warp.atBarrier) { // all lanes of a warp are at the same instruction
    const Thread &lane = block.lane(warp, __builtin_ctz(warp.atBarrier));
    if (lane.site != site || lane.barrier != id)
      barrierFault(*thread, Fault::Places, id, count, site);
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
