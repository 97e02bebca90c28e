// One launch: what is refused before it begins, and how blocks are spread over host threads.
#include "Compile.h"
#include "Pool.h"
#include "Races.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <xmmintrin.h>

namespace standin {
namespace {

std::optional<Finding> refusal(const LaunchRequest &request) {
  const Kernel &kernel = *request.kernel;
  auto refuse = [&](const std::string &why) {
    return Finding{Finding::Kind::Launch, "cannot launch (kernel " + kernel.name + "): " + why};
  };
  if (!kernel.unsupported.empty())
    return refuse("the stand-in does not know " + kernel.unsupported);
  const Dim3 &grid = request.grid, &block = request.block;
  auto shape = [](const Dim3 &size) {
    return std::to_string(size.x) + "x" + std::to_string(size.y) + "x" + std::to_string(size.z);
  };
  if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535 ||
      uint64_t(grid.x) * grid.y * grid.z > 0xffffffff)
    return refuse("a grid of " + shape(grid) + " blocks");
  uint64_t threads = uint64_t(block.x) * block.y * block.z;
  if (!threads || block.x > 1024 || block.y > 1024 || block.z > 64 || threads > kernel.maxThreads ||
      threads > kMaxThreads)
    return refuse("a block of " + shape(block) + " threads, and at most " +
                  std::to_string(std::min(kernel.maxThreads, kMaxThreads)) + " are allowed");
  const uint32_t *required = kernel.requiredThreads;
  if (required[0] && (required[0] != block.x || required[1] != block.y || required[2] != block.z))
    return refuse("a block of " + shape(block) + " threads, and it was compiled for " +
                  shape({required[0], required[1], required[2]}));
  if (uint64_t(kernel.staticShared) + request.dynamicShared > request.sharedLimit)
    return refuse(std::to_string(kernel.staticShared) + " static and " +
                  std::to_string(request.dynamicShared) + " dynamic bytes of shared memory, of " +
                  std::to_string(request.sharedLimit));
  return std::nullopt;
}

// The block that is run as number `index`: a permutation of the grid that needs no table. Each step is one of
// the numbers below a power of two; what lies outside the grid goes round again.
uint32_t blockAt(const Launch &launch, uint32_t index) {
  uint64_t seed = launch.request->seed;
  if (seed == 0 || launch.blockCount == 1)
    return index;
  unsigned bits = 32 - __builtin_clz(launch.blockCount - 1);
  uint64_t mask = (uint64_t(1) << bits) - 1, factor = (seed * 0x9e3779b97f4a7c15 >> 20) | 1, x = index;
  do {
    for (int round = 0; round < 3; ++round) {
      x = (x * factor + (seed >> round)) & mask;
      x ^= x >> (bits + 1) / 2;
      factor = factor * 5 + 2; // odd stays odd
    }
    factor = (seed * 0x9e3779b97f4a7c15 >> 20) | 1;
  } while (x >= launch.blockCount);
  return uint32_t(x);
}

// Blocks of a launch, on one host thread. Several are open at once only while they wait for each other.
class Runner {
public:
  Runner(Launch &launch, Worker &worker) : launch(launch), worker(worker) {
    if (worker.ranges.size() < launch.siteCount)
      worker.ranges.resize(launch.siteCount);
    const uint32_t *numbers = launch.siteRanges;
    std::fill(worker.ranges.begin() + numbers[0], worker.ranges.begin() + numbers[1], kNoRange);
    std::fill(worker.ranges.begin() + numbers[2], worker.ranges.begin() + numbers[3], kNoRange);
  }
  ~Runner() {
    for (std::unique_ptr<Block> &block : open)
      worker.spare.push_back(std::move(block));
    for (std::unique_ptr<Block> &block : worker.spare)
      block->launch = nullptr; // another launch may lie at the same address
  }

  // Works until no block is left. `afterFirst` is called when the first one is done, or waits.
  void run(const std::function<void()> &afterFirst) {
    launch.working.fetch_add(1);
    work(afterFirst);
    if (!idle)
      launch.working.fetch_sub(1);
  }

private:
  static constexpr size_t kMostOpen = 64;
  static constexpr uint64_t kMostStalls = 128; // of each open block, 64 rounds of its threads each

  void work(const std::function<void()> &afterFirst) {
    bool first = true;
    uint64_t stalls = 0; // one after the other, in which nothing happened
    while (!launch.failed.load(std::memory_order_relaxed)) {
      if (open.empty() || (stalls >= open.size() && open.size() < kMostOpen)) {
        uint32_t next = launch.next.fetch_add(1);
        if (next < launch.blockCount) {
          start(next);
          stalls = 0;
        } else if (open.empty()) {
          return;
        }
      }
      turn = turn + 1 < open.size() ? turn + 1 : 0;
      Block &block = *open[turn];
      switch (runBlock(block)) {
      case Worker::Outcome::Done:
        worker.spare.push_back(std::move(open[turn]));
        open.erase(open.begin() + turn);
        stalls = 0;
        break;
      case Worker::Outcome::Stalled:
        stalls = block.idleRounds > kIdleRounds ? stalls + 1 : 1;
        break;
      case Worker::Outcome::Failed:
        return;
      }
      if (first)
        afterFirst();
      first = false;
      if (waits(stalls))
        return hangs();
    }
  }

  // Nothing can happen any more when no host thread of the launch saw anything happen for long.
  bool waits(uint64_t stalls) {
    bool nowIdle = stalls > open.size() * kMostStalls;
    if (nowIdle != idle)
      launch.working.fetch_add(nowIdle ? -1 : 1);
    idle = nowIdle;
    if (stalls > open.size())
      std::this_thread::yield();
    return stalls > open.size() * kMostStalls * 2 && launch.working.load() == 0;
  }

  void start(uint32_t index) {
    std::unique_ptr<Block> block;
    if (worker.spare.empty()) {
      block = std::make_unique<Block>();
    } else {
      block = std::move(worker.spare.back());
      worker.spare.pop_back();
    }
    block->races = launch.races;
    prepareBlock(*block, launch, worker, blockAt(launch, index));
    if (launch.races)
      launch.races->begin(*block);
    turn = open.size() - 1; // it is next
    open.push_back(std::move(block));
  }

  void hangs() {
    const Block &block = *open[0];
    const Thread *waiting = &block.threads[0];
    for (uint32_t i = 0; i < block.threadCount; ++i)
      if (block.threads[i].wait == Wait::Turn)
        waiting = &block.threads[i];
    launch.report({Finding::Kind::Synchronization,
                   "a wait that never ends (" + whereIs(*waiting) +
                       "): it asks memory again and again, and no thread that could run writes there"});
  }

  Launch &launch;
  Worker &worker;
  std::vector<std::unique_ptr<Block>> open;
  size_t turn = 0;
  bool idle = false;
};

} // namespace

std::optional<Finding> run(const LaunchRequest &request) {
  if (std::optional<Finding> finding = refusal(request))
    return finding;
  tessera::Result<const Code *> code = request.kernel->image->program().code(request.races);
  if (!code)
    return Finding{Finding::Kind::Launch, code.failure().message()};
  Launch launch;
  launch.request = &request;
  launch.entry = (*code)->entries[request.kernel->index];
  launch.sites = (*code)->sites;
  launch.siteCount = (*code)->siteCount;
  launch.siteRanges = (*code)->siteRanges + 4 * request.kernel->index;
  launch.blockCount = request.grid.x * request.grid.y * request.grid.z;
  std::unique_ptr<Races> races;
  if (request.races) {
    races = std::make_unique<Races>(launch);
    launch.races = races.get();
  }
  auto work = [&](const std::function<void()> &afterFirst) {
    unsigned mode = _mm_getcsr();
    if (request.kernel->flushDenormals)
      _mm_setcsr(mode | 0x8040);
    Runner(launch, Worker::mine()).run(afterFirst);
    _mm_setcsr(mode);
  };
  if (request.races || launch.blockCount == 1) {
    work([] {});
  } else {
    // Helpers are woken when what is left is worth it.
    using Clock = std::chrono::steady_clock;
    Clock::time_point begin = Clock::now();
    Pool::Job job([&] { work([] {}); });
    work([&] {
      uint32_t started = std::min(launch.blockCount, launch.next.load());
      if ((Clock::now() - begin) * (launch.blockCount - started) > std::chrono::microseconds(100))
        Pool::get().help(job);
    });
    Pool::get().finish(job);
  }
  if (races && races->unwritten && (!launch.finding || launch.finding->kind != Finding::Kind::Race)) {
    if (launch.finding)
      races->unwritten->text += "; then: " + launch.finding->text;
    return races->unwritten;
  }
  return launch.finding;
}

} // namespace standin
