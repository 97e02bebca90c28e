// The threads of a block on one host thread: who runs next, who waits for what, and what it means when nobody
// can go on.
#ifndef TESSERA_STANDIN_SCHEDULER_H
#define TESSERA_STANDIN_SCHEDULER_H

#include "Context.h"
#include "Engine.h"
#include "Fibers.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace standin {

// So many rounds in which all gave up their turn, and the host thread looks at other blocks.
constexpr uint32_t kIdleRounds = 64;

struct Block;
struct Launch;
struct AsyncCopies; // Async.h
struct Warpgroups;  // Wgmma.h
class Races;        // Races.h

// What a thread waits at. `site` says where.
enum class Wait : uint8_t { None, Barrier, Warp, Turn };
enum class WarpOp : uint8_t { Sync, Shuffle, Vote, Match, Reduce, Elect, Matrix, Store, Product, Warpgroup };

// One line of the cache: a switch touches it and a few of the stack.
struct alignas(64) Thread : ThreadContext {
  void *sp;       // where it was switched away from
  Stack *stack;   // none before it starts
  void *operands; // of the warp operation it waits in, on its own stack
  uint32_t site;  // of the operation it waits at
  Wait wait;
  uint8_t barrier; // which of the 16
  bool done;

  inline Block *owner() const;
  uint32_t index() const { return warp * kWarp + lane; } // in the block
};
static_assert(sizeof(Thread) == 64);

// Lanes that wait for one another: those of `mask`.
struct Meeting {
  uint32_t mask, arrived, site;
  WarpOp op;
};

struct Warp {
  uint32_t runnable; // lanes that may run: not started, or woken. Bit `lane ^ flip`: the lowest goes first
  uint32_t turned;   // lanes that let others go first
  uint32_t exists, done;
  uint32_t flip;      // says the order of the lanes
  uint32_t atBarrier; // lanes that wait there
  uint32_t rank;      // among the warps; rank 0 goes first
  uint32_t meetings;  // how many of the next are open
  Meeting meeting[kWarp];
};

struct Barrier {
  uint32_t arrived, expected; // threads
  uint32_t count;             // of those arrived, whose predicate is true
  uint32_t trues, of;         // of the last round
  uint32_t site;
};

// Where the stages of a host thread's work meet.
struct Worker {
  Stacks stacks;
  std::vector<SiteRange> ranges;
  std::vector<std::unique_ptr<Block>> spare;
  void *mainStack = nullptr; // saved while fibers run
  Thread *starting = nullptr;
  enum class Outcome { Done, Stalled, Failed } outcome = Outcome::Done;
  static Worker &mine();
};

struct Block : BlockContext {
  Launch *launch;
  Worker *worker;
  uint32_t linear; // index in the grid
  uint32_t threadCount, warpCount, live;
  uint32_t runnableRanks; // bit r: the warp of rank r has a runnable lane
  uint32_t warpOfRank[kWarp];
  uint32_t idleRounds; // rounds in which all that could run only gave up their turn
  uint64_t random;
  uint32_t untilChange; // times that threads wait before priorities change
  Warp warps[kWarp];
  Barrier barriers[16];
  std::vector<Thread> threads;
  std::vector<char> sharedMemory;
  Races *races = nullptr;                                // the launch's; null where not asked for
  std::vector<std::unique_ptr<AsyncCopies>> asyncCopies; // by thread; null before its first cp.async
  std::unique_ptr<Warpgroups> warpgroups;                // null before the first wgmma

  Block();
  ~Block();

  Thread &lane(const Warp &warp, uint32_t lane) { return threads[(&warp - warps) * kWarp + lane]; }
  uint64_t draw(); // the next of a counted series
};

inline Block *Thread::owner() const { return static_cast<Block *>(block); }

using Entry = void (*)(ThreadContext *, const void *parameters);

struct Launch {
  const LaunchRequest *request;
  Entry entry;
  const Site *sites;
  uint32_t siteCount;
  const uint32_t *siteRanges;
  uint32_t blockCount;
  Races *races = nullptr;
  std::atomic<uint32_t> next{0};
  std::atomic<int> working{0}; // host threads that saw something happen lately
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::optional<Finding> finding;

  void report(Finding finding); // the first one counts
};

// Makes `block` ready to run as number `linear` of the grid.
void prepareBlock(Block &block, Launch &launch, Worker &worker, uint32_t linear);
// Runs it until it is done, has failed, or all its threads wait for something outside.
Worker::Outcome runBlock(Block &block);

// Called on a thread's fiber
// -----------------------------------------------------------------------------------------------------

// Switches to whoever is next; comes back when this thread was woken. What it waits for is set before.
void suspendSlow(Thread &thread);
inline void suspend(Thread &thread) {
  Block &block = *thread.owner();
  if (uint32_t ranks = block.runnableRanks; ranks && --block.untilChange) {
    Warp &warp = block.warps[block.warpOfRank[__builtin_ctz(ranks)]];
    uint32_t runnable = warp.runnable;
    Thread &next = block.lane(warp, __builtin_ctz(runnable) ^ warp.flip);
    if (next.stack) { // and so it is another one: this one waits
      warp.runnable = runnable &= runnable - 1;
      if (!runnable)
        block.runnableRanks = ranks & (ranks - 1);
      else // who comes then
        __builtin_prefetch(block.lane(warp, __builtin_ctz(runnable) ^ warp.flip).sp);
      standin_switch(&thread.sp, next.sp);
      return;
    }
  }
  suspendSlow(thread);
}
void wakeLanes(Block &block, Warp &warp, uint32_t lanes);
// Lets the others go first.
void giveTurn(Thread &thread);
// Ends the thread in the middle of its kernel.
[[noreturn]] void endThread(Thread &thread);
// Ends the launch with a finding.
[[noreturn]] void fail(Thread &thread, Finding::Kind kind, const std::string &text);
// "kernel k, block (0,0,0), thread (3,0,0)"
std::string whereIs(const Thread &thread);
std::string threadName(const Block &block, uint32_t index);
const char *textOf(const Block &block, uint32_t site);

} // namespace standin
#endif
