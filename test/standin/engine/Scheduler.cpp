#include "Scheduler.h"
#include "Async.h"
#include "Races.h"
#include "Wgmma.h"

#include <algorithm>
#include <cstring>

namespace standin {

Worker &Worker::mine() {
  static thread_local Worker worker;
  return worker;
}

Block::Block() = default;
Block::~Block() = default;

void Launch::report(Finding found) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!finding)
    finding = std::move(found);
  failed = true;
}

uint64_t Block::draw() { // splitmix64
  uint64_t z = random += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Lanes to places in their order: bit i goes to bit `i ^ flip`.
static uint32_t inOrder(const Warp &warp, uint32_t lanes) {
  uint32_t flip = warp.flip;
  if (lanes == ~0u || flip == 0)
    return lanes;
  if (flip & 16)
    lanes = lanes >> 16 | lanes << 16;
  if (flip & 8)
    lanes = (lanes >> 8 & 0x00ff00ff) | (lanes & 0x00ff00ff) << 8;
  if (flip & 4)
    lanes = (lanes >> 4 & 0x0f0f0f0f) | (lanes & 0x0f0f0f0f) << 4;
  if (flip & 2)
    lanes = (lanes >> 2 & 0x33333333) | (lanes & 0x33333333) << 2;
  if (flip & 1)
    lanes = (lanes >> 1 & 0x55555555) | (lanes & 0x55555555) << 1;
  return lanes;
}

static void setRunnable(Block &block, Warp &warp, uint32_t lanes) {
  warp.runnable |= inOrder(warp, lanes);
  block.runnableRanks |= 1u << warp.rank;
}

static Warp &warpOf(Thread &thread) { return thread.owner()->warps[thread.warp]; }

// Priorities change after at most so many waits.
constexpr uint32_t kChanges = 64;

static void exchangeRanks(Block &block, uint32_t a, uint32_t b) {
  std::swap(block.warpOfRank[a], block.warpOfRank[b]);
  block.warps[block.warpOfRank[a]].rank = a;
  block.warps[block.warpOfRank[b]].rank = b;
  uint32_t bitA = block.runnableRanks >> a & 1, bitB = block.runnableRanks >> b & 1;
  block.runnableRanks = (block.runnableRanks & ~(1u << a) & ~(1u << b)) | bitA << b | bitB << a;
}

void prepareBlock(Block &block, Launch &launch, Worker &worker, uint32_t linear) {
  const LaunchRequest &request = *launch.request;
  bool fresh = block.launch !=
               &launch; // else from an earlier block of the launch: threads are as they were at its end
  block.launch = &launch;
  block.worker = &worker;
  block.linear = linear;
  block.ctaid[0] = linear % request.grid.x;
  block.ctaid[1] = linear / request.grid.x % request.grid.y;
  block.ctaid[2] = linear / request.grid.x / request.grid.y;
  block.random = request.seed * 0xd1342543de82ef95 + linear;
  if (fresh) {
    const Dim3 &size = request.block;
    uint32_t ntid[] = {size.x, size.y, size.z}, nctaid[] = {request.grid.x, request.grid.y, request.grid.z};
    std::copy_n(ntid, 3, block.ntid);
    std::copy_n(nctaid, 3, block.nctaid);
    block.threadCount = size.x * size.y * size.z;
    block.warpCount = (block.threadCount + kWarp - 1) / kWarp;
    block.staticBytes = request.kernel->placedShared;
    block.dynamicBytes = request.dynamicShared;
    block.globals = request.kernel->image->data();
    block.ranges = worker.ranges.data();
    // The dynamic part begins at a multiple of 16 behind the static variables. All of it begins where the low
    // 18 bits of an address are 0: what descriptors of wgmma hold never runs over, as on a GPU.
    constexpr size_t window = size_t(1) << 18;
    size_t dynamicAt = (size_t(block.staticBytes) + 15) & ~size_t(15), bytes = dynamicAt + block.dynamicBytes;
    if (block.sharedMemory.size() < bytes + window)
      block.sharedMemory.resize(bytes + window);
    block.shared = reinterpret_cast<char *>(
        (reinterpret_cast<uintptr_t>(block.sharedMemory.data()) + window - 1) & ~(window - 1));
    block.dynamic = block.shared + dynamicAt;
    block.threads.resize(std::max<size_t>(block.threads.size(), block.threadCount));
    for (uint32_t i = 0; i < block.threadCount; ++i) {
      Thread &thread = block.threads[i];
      thread = Thread();
      thread.tid[0] = i % size.x;
      thread.tid[1] = i / size.x % size.y;
      thread.tid[2] = i / size.x / size.y;
      thread.lane = i % kWarp;
      thread.warp = i / kWarp;
      thread.block = &block;
    }
  }
  // What is read before it is written is a NaN in every width of float, and far outside every array as an
  // index.
  if (block.staticBytes + block.dynamicBytes != 0)
    std::fill(reinterpret_cast<uint16_t *>(block.shared),
              reinterpret_cast<uint16_t *>(block.dynamic + (block.dynamicBytes & ~1u)), uint16_t(0x7ff7));
  for (std::unique_ptr<AsyncCopies> &copies : block.asyncCopies)
    if (copies)
      copies->forget();
  block.warpgroups.reset();
  block.live = block.threadCount;
  block.untilChange = 1 + block.draw() % kChanges;
  block.idleRounds = 0;
  block.runnableRanks = 0;
  std::memset(block.barriers, 0, sizeof(block.barriers));
  bool shuffle = request.seed != 0;
  for (uint32_t w = 0; w < block.warpCount; ++w)
    block.warpOfRank[w] = w;
  if (shuffle)
    for (uint32_t w = block.warpCount; w > 1; --w)
      std::swap(block.warpOfRank[w - 1], block.warpOfRank[block.draw() % w]);
  for (uint32_t rank = 0; rank < block.warpCount; ++rank) {
    Warp &warp = block.warps[block.warpOfRank[rank]];
    uint32_t lanes = std::min(kWarp, block.threadCount - block.warpOfRank[rank] * kWarp);
    warp.rank = rank;
    warp.exists = lanes == kWarp ? ~0u : (1u << lanes) - 1;
    warp.done = warp.turned = warp.meetings = warp.runnable = warp.atBarrier = 0;
    warp.flip = shuffle ? block.draw() % kWarp : 0;
    setRunnable(block, warp, warp.exists);
  }
  for (uint32_t i = 0; i < block.threadCount; ++i) {
    Thread &thread = block.threads[i];
    thread.done = false;
    thread.wait = Wait::None;
    thread.patience = kPatience;
    thread.sp = nullptr;
    thread.stack = nullptr;
  }
}

std::string threadName(const Block &block, uint32_t index) {
  const uint32_t *tid = block.threads[index].tid;
  return "thread (" + std::to_string(tid[0]) + "," + std::to_string(tid[1]) + "," + std::to_string(tid[2]) +
         ")";
}

std::string whereIs(const Thread &thread) {
  const Block &block = *thread.owner();
  return "kernel " + block.launch->request->kernel->name + ", block (" + std::to_string(block.ctaid[0]) +
         "," + std::to_string(block.ctaid[1]) + "," + std::to_string(block.ctaid[2]) + "), " +
         threadName(block, thread.index());
}

const char *textOf(const Block &block, uint32_t site) {
  return site < block.launch->siteCount ? block.launch->sites[site].text : "?";
}

// Who is next: the runnable lane of the warp with the best rank. Null when nobody can run.
static Thread *pick(Block &block) {
  for (;;) {
    if (block.runnableRanks) {
      Warp &warp = block.warps[block.warpOfRank[__builtin_ctz(block.runnableRanks)]];
      uint32_t lane = __builtin_ctz(warp.runnable) ^ warp.flip;
      warp.runnable &= warp.runnable - 1;
      if (!warp.runnable)
        block.runnableRanks &= ~(1u << warp.rank);
      return &block.lane(warp, lane);
    }
    // Those that let the others go first have their turn now. When nothing else happened twice, something
    // outside is waited for.
    bool any = false;
    for (uint32_t w = 0; w < block.warpCount; ++w)
      any |= block.warps[w].turned != 0;
    if (!any)
      return nullptr;
    for (uint32_t w = 0; w < block.warpCount; ++w)
      if (Warp &warp = block.warps[w]; warp.turned) {
        setRunnable(block, warp, warp.turned);
        warp.turned = 0;
      }
    if (++block.idleRounds % kIdleRounds == 0) {
      block.worker->outcome = Worker::Outcome::Stalled;
      return nullptr;
    }
  }
}

// What it means that nobody of a block can go on though some are not done.
static Finding deadlock(Block &block) {
  uint32_t number = 0, site = 0;
  const Thread *first = nullptr, *other = nullptr;
  for (uint32_t i = 0; i < block.threadCount; ++i) {
    const Thread &thread = block.threads[i];
    if (thread.wait == Wait::Barrier && !first) {
      first = &thread;
      number = thread.barrier;
      site = thread.site;
    }
  }
  if (first) {
    for (uint32_t i = 0; i < block.threadCount; ++i) {
      const Thread &thread = block.threads[i];
      if (!other && !(thread.wait == Wait::Barrier && thread.barrier == number))
        other = &thread;
    }
    const Barrier &barrier = block.barriers[number];
    std::string text = "barrier " + std::to_string(number) + " is reached by " +
                       std::to_string(barrier.arrived) + " of " + std::to_string(barrier.expected) +
                       " threads (" + whereIs(*first) + "): they wait at " + textOf(block, site);
    if (other)
      text += "; " + threadName(block, other->index()) +
              (other->done ? " has ended" : std::string(" waits at ") + textOf(block, other->site));
    return {Finding::Kind::Synchronization, text};
  }
  for (uint32_t w = 0; w < block.warpCount; ++w) {
    const Warp &warp = block.warps[w];
    if (!warp.meetings)
      continue;
    const Meeting &meeting = warp.meeting[0];
    uint32_t missing = meeting.mask & ~meeting.arrived;
    const Thread &here = block.lane(warp, __builtin_ctz(meeting.arrived));
    std::string text = "a warp operation is reached by " +
                       std::to_string(__builtin_popcount(meeting.arrived)) + " of the " +
                       std::to_string(__builtin_popcount(meeting.mask)) + " lanes of its mask (" +
                       whereIs(here) + "): they wait at " + textOf(block, meeting.site);
    if (missing & warp.exists) {
      const Thread &absent = block.lane(warp, __builtin_ctz(missing & warp.exists));
      text += "; " + threadName(block, absent.index()) +
              (absent.done ? " has ended" : std::string(" waits at ") + textOf(block, absent.site));
    } else {
      text += "; the block has no such lanes";
    }
    return {Finding::Kind::Synchronization, text};
  }
  return {Finding::Kind::Synchronization, "no thread can go on (" + whereIs(block.threads[0]) + ")"};
}

static void fiberMain();

// Who goes on after the running thread; when nobody can, the host thread's own stack, which learns why.
static void *goOn(Block &block, Stack *spare) {
  Worker &worker = *block.worker;
  worker.outcome = Worker::Outcome::Done;
  Thread *next = pick(block);
  if (!next) {
    if (worker.outcome != Worker::Outcome::Stalled && block.live) {
      block.launch->report(deadlock(block));
      worker.outcome = Worker::Outcome::Failed;
    }
    return worker.mainStack;
  }
  if (next->stack)
    return next->sp;
  next->stack = spare ? spare : worker.stacks.take();
  worker.starting = next;
  return spare ? nullptr : startOf(*next->stack, fiberMain);
}

void suspendSlow(Thread &thread) {
  Block &block = *thread.owner();
  if (!block.untilChange || !--block.untilChange) {
    block.untilChange = 1 + block.draw() % kChanges;
    if (block.warpCount > 1 && block.launch->request->seed)
      exchangeRanks(block, block.warps[thread.warp].rank, block.draw() % block.warpCount);
  }
  void *to = goOn(block, nullptr);
  if (to != thread.sp) // else it is the only one
    standin_switch(&thread.sp, to);
}

void wakeLanes(Block &block, Warp &warp, uint32_t lanes) {
  if (!lanes)
    return;
  for (uint32_t left = lanes; left; left &= left - 1)
    block.lane(warp, __builtin_ctz(left)).wait = Wait::None;
  setRunnable(block, warp, lanes);
  block.idleRounds = 0;
}

void giveTurn(Thread &thread) {
  thread.patience = kPatience;
  warpOf(thread).turned |= 1u << thread.lane;
  thread.wait = Wait::Turn;
  suspend(thread);
  thread.wait = Wait::None;
}

static void finish(Thread &thread) {
  Block &block = *thread.owner();
  Warp &warp = warpOf(thread);
  thread.done = true;
  warp.done |= 1u << thread.lane;
  --block.live;
  block.idleRounds = 0;
  for (uint32_t i = 0; i < warp.meetings; ++i)
    if (warp.meeting[i].mask >> thread.lane & 1)
      fail(thread, Finding::Kind::Synchronization,
           "a lane ends that others wait for (" + whereIs(thread) +
               "): " + textOf(block, warp.meeting[i].site) + " names it in its mask");
  if (!block.live && block.warpgroups)
    checkWarpgroups(thread);
}

static void fiberMain() {
  Worker &worker = Worker::mine();
  for (;;) {
    Thread &thread = *worker.starting;
    Block &block = *thread.owner();
    Launch &launch = *block.launch;
    launch.entry(&thread, launch.request->parameters);
    finish(thread);
    Stack *stack = thread.stack;
    thread.stack = nullptr;
    if (void *to = goOn(block, stack)) {
      worker.stacks.put(stack); // nobody takes it before the switch is done
      void *gone;
      standin_switch(&gone, to);
    }
  }
}

void endThread(Thread &thread) {
  Block &block = *thread.owner();
  finish(thread);
  Stack *stack = thread.stack;
  thread.stack = nullptr;
  void *to = goOn(block, nullptr); // on another stack: this one is full of the kernel
  block.worker->stacks.put(stack);
  standin_switch(&thread.sp, to);
  __builtin_unreachable();
}

void fail(Thread &thread, Finding::Kind kind, const std::string &text) {
  Block &block = *thread.owner();
  block.launch->report({kind, text});
  block.worker->outcome = Worker::Outcome::Failed;
  standin_switch(&thread.sp, block.worker->mainStack);
  __builtin_unreachable();
}

Worker::Outcome runBlock(Block &block) {
  Worker &worker = *block.worker;
  void *to = goOn(block, nullptr);
  if (to != worker.mainStack)
    standin_switch(&worker.mainStack, to);
  if (worker.outcome == Worker::Outcome::Failed)
    for (uint32_t i = 0; i < block.threadCount; ++i)
      if (Stack *stack = block.threads[i].stack) { // what was on it is gone
        worker.stacks.put(stack);
        block.threads[i].stack = nullptr;
      }
  return worker.outcome;
}

} // namespace standin
