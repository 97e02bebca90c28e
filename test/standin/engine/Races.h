// The race check of a launch: shadow memory that remembers who touched each place last, and clocks that say
// what is ordered.
#ifndef TESSERA_STANDIN_RACES_H
#define TESSERA_STANDIN_RACES_H

#include "Clocks.h"
#include "Scheduler.h"
#include "Shadow.h"

#include <unordered_map>

namespace standin {

// What a thread knows, and what it is about to hand on.
struct ThreadClock {
  uint32_t time = 1;                // of its own accesses; grows when others may learn of them
  Times block;                      // of the own block's threads; the own entry is older than `time`
  Knowledge others;                 // of other blocks
  Knowledge read;                   // of places that it read with relaxed atomics: known after its next fence
  Knowledge fenced, fencedForBlock; // what it knew at its last fence: goes with its next relaxed atomic write
  std::vector<uint32_t> proxyFences; // its own times, ascending
};

// One host thread runs all blocks of a launch that is checked, so nothing here is locked.
class Races {
public:
  explicit Races(Launch &launch);
  void begin(Block &block);

  // The next end the launch with a finding when nothing orders two accesses.
  void access(Thread &thread, uintptr_t address, uint64_t bytes, uint32_t flags, uint32_t site);
  void started(Thread &thread, uintptr_t address, uint32_t bytes, uint32_t site); // cp.async
  void landed(Thread &thread, uintptr_t to, uint32_t bytes, uintptr_t from, uint32_t taken, uint32_t site);

  // What wgmma and bulk copies read was written by them too, or its writer has told them since by
  // fence.proxy.async, which `thread` has to know of.
  void readByAsyncProxy(Thread &thread, uintptr_t address, uint64_t bytes, uint32_t site);
  void proxyFence(Thread &thread);

  // Barrier `id`: a thread comes, all have come, a thread goes on.
  void arrive(Thread &thread, uint32_t id);
  void complete(Block &block, uint32_t id);
  void leave(Thread &thread, uint32_t id);
  void warpSync(Thread &thread, uint32_t mask);
  void fence(Thread &thread, uint32_t flags);

  // The first read of shared memory that nobody had written. It only counts when no race explains it: who
  // reads too early races with who writes.
  std::optional<Finding> unwritten;

private:
  struct Arrival {
    uint32_t thread, time;
    Times block;
    Knowledge others;
  };
  struct Round {
    std::vector<Arrival> arrivals;
    Times block;
    Knowledge others;
  };
  struct BlockClocks {
    std::vector<ThreadClock> threads;
    Round barriers[16];
  };
  // A place that threads synchronize through.
  struct Sync {
    Knowledge all;
    std::unordered_map<uint32_t, Knowledge> inBlock; // what a fence for a block only hands on
  };

  BlockClocks &clocksOf(const Block &block) { return *blocks[block.linear]; }
  ThreadClock &clockOf(const Thread &thread) { return clocksOf(*thread.owner()).threads[thread.index()]; }
  static Knowledge snapshot(const Thread &thread, const ThreadClock &clock);
  static void finishRound(const Block &block, Round &round);
  static void learn(uint32_t block, ThreadClock &clock, const Knowledge &knowledge);
  void synchronize(Thread &thread, ThreadClock &clock, uintptr_t address, uint32_t flags);
  bool ordered(const Thread &thread, const ThreadClock &clock, const Touch &earlier) const;
  void compare(Thread &thread, const ThreadClock &clock, const Touch &earlier, uintptr_t at, uint32_t flags,
               uint32_t site);
  [[noreturn]] void found(Thread &thread, const Touch &earlier, uintptr_t at, uint32_t site);
  std::string placeName(const Block &block, uintptr_t at) const;
  std::string threadOf(uint32_t id) const;

  Launch &launch;
  uint32_t blockSize;
  Shadow shadow;
  std::unordered_map<uint32_t, std::unique_ptr<BlockClocks>> blocks;
  std::unordered_map<uintptr_t, Sync> syncs;
};

} // namespace standin
#endif
