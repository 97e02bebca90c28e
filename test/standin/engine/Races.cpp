#include "Races.h"
#include "Functions.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace standin {

static constexpr uint32_t kInFlight = ~0u; // the time of a copy that has not landed

Races::Races(Launch &launch)
    : launch(launch), blockSize(launch.request->block.x * launch.request->block.y * launch.request->block.z) {
}

void Races::begin(Block &block) {
  shadow.forget(reinterpret_cast<uintptr_t>(block.shared), block.dynamic + block.dynamicBytes - block.shared);
  auto made = std::make_unique<BlockClocks>();
  auto nothing = std::make_shared<std::vector<uint32_t>>(blockSize, 0);
  made->threads.resize(blockSize);
  for (ThreadClock &clock : made->threads)
    clock.block = nothing;
  blocks[block.linear] = std::move(made);
}

// Clocks
// --------------------------------------------------------------------------------------------------------------------------

Knowledge Races::snapshot(const Thread &thread, const ThreadClock &clock) {
  Knowledge made = clock.others;
  auto times = std::make_shared<std::vector<uint32_t>>(*clock.block);
  (*times)[thread.index()] = clock.time;
  made.set(thread.owner()->linear, std::move(times));
  return made;
}

void Races::learn(uint32_t block, ThreadClock &clock, const Knowledge &knowledge) {
  Knowledge all = clock.others;
  all.set(block, clock.block);
  all.join(knowledge);
  clock.block = *all.find(block);
  all.forget(block);
  clock.others = std::move(all);
}

// What all that came know together.
void Races::finishRound(const Block &block, Round &round) {
  auto times = std::make_shared<std::vector<uint32_t>>(*round.arrivals[0].block);
  const Times *last = &round.arrivals[0].block;
  round.others = Knowledge();
  for (const Arrival &arrival : round.arrivals) {
    if (arrival.block != *last) {
      last = &arrival.block;
      for (size_t i = 0; i < times->size(); ++i)
        (*times)[i] = std::max((*times)[i], (**last)[i]);
    }
    if (!arrival.others.empty())
      round.others.join(arrival.others);
  }
  for (const Arrival &arrival : round.arrivals)
    (*times)[arrival.thread] = std::max((*times)[arrival.thread], arrival.time);
  round.block = std::move(times);
  round.arrivals.clear();
}

void Races::arrive(Thread &thread, uint32_t id) {
  ThreadClock &clock = clockOf(thread);
  clocksOf(*thread.owner())
      .barriers[id]
      .arrivals.push_back({thread.index(), clock.time, clock.block, clock.others});
  ++clock.time;
}

void Races::complete(Block &block, uint32_t id) { finishRound(block, clocksOf(block).barriers[id]); }

void Races::leave(Thread &thread, uint32_t id) {
  ThreadClock &clock = clockOf(thread);
  const Round &round = clocksOf(*thread.owner()).barriers[id];
  Knowledge all;
  all.set(0, clock.block);
  all.join(0, round.block);
  clock.block = *all.find(0);
  clock.others.join(round.others);
}

void Races::warpSync(Thread &thread, uint32_t mask) {
  Block &block = *thread.owner();
  Warp &warp = block.warps[thread.warp];
  Round round;
  mask &= warp.exists;
  for (uint32_t left = mask; left; left &= left - 1) {
    Thread &lane = block.lane(warp, __builtin_ctz(left));
    ThreadClock &clock = clockOf(lane);
    round.arrivals.push_back({lane.index(), clock.time++, clock.block, clock.others});
  }
  finishRound(block, round);
  for (uint32_t left = mask; left; left &= left - 1) {
    ThreadClock &clock = clockOf(block.lane(warp, __builtin_ctz(left)));
    clock.block = round.block;
    clock.others = round.others;
  }
}

void Races::fence(Thread &thread, uint32_t flags) {
  ThreadClock &clock = clockOf(thread);
  uint32_t block = thread.owner()->linear;
  if (flags & kBlockScope) {
    if (const Times *times = clock.read.find(block)) {
      Knowledge own;
      own.set(block, *times);
      learn(block, clock, own);
    }
    clock.fencedForBlock = snapshot(thread, clock);
  } else {
    if (!clock.read.empty())
      learn(block, clock, clock.read);
    clock.read = Knowledge();
    clock.fenced = snapshot(thread, clock);
  }
  ++clock.time;
}

// An atomic hands on what its thread knows, or what it knew at its last fence, to those that read the place
// afterwards.
void Races::synchronize(Thread &thread, ThreadClock &clock, uintptr_t address, uint32_t flags) {
  Sync &sync = syncs[address];
  uint32_t block = thread.owner()->linear;
  if (flags & kRead) {
    auto own = sync.inBlock.find(block);
    if (flags & kAcquire) {
      learn(block, clock, sync.all);
      if (own != sync.inBlock.end())
        learn(block, clock, own->second);
    } else {
      clock.read.join(sync.all);
      if (own != sync.inBlock.end())
        clock.read.join(own->second);
    }
  }
  if (flags & kWrite) {
    if (flags & kRelease) {
      (flags & kBlockScope ? sync.inBlock[block] : sync.all).join(snapshot(thread, clock));
      ++clock.time;
    } else {
      sync.all.join(clock.fenced);
      if (!clock.fencedForBlock.empty())
        sync.inBlock[block].join(clock.fencedForBlock);
    }
  }
}

// Accesses
// ------------------------------------------------------------------------------------------------------------------------

bool Races::ordered(const Thread &thread, const ThreadClock &clock, const Touch &earlier) const {
  uint32_t block = earlier.thread / blockSize, index = earlier.thread % blockSize;
  if (block == thread.owner()->linear)
    return index == thread.index() || (*clock.block)[index] >= earlier.time;
  return clock.others.knows(block, index, earlier.time);
}

void Races::compare(Thread &thread, const ThreadClock &clock, const Touch &earlier, uintptr_t at,
                    uint32_t flags, uint32_t site) {
  if (earlier.time == 0)
    return;
  if (earlier.time != kInFlight) {
    uint32_t both = flags & launch.sites[earlier.site].flags;
    bool sameBlock = earlier.thread / blockSize == thread.owner()->linear;
    bool blockScope = (flags | launch.sites[earlier.site].flags) & kBlockScope;
    if (both & kAtomic && (sameBlock || !blockScope))
      return;
    if (ordered(thread, clock, earlier))
      return;
  }
  found(thread, earlier, at, site);
}

void Races::access(Thread &thread, uintptr_t address, uint64_t bytes, uint32_t flags, uint32_t site) {
  const Block &block = *thread.owner();
  if (standin_is_local(&thread, address))
    return;
  ThreadClock &clock = clockOf(thread);
  if (flags & kAtomic)
    synchronize(thread, clock, address, flags);
  uint32_t id = block.linear * blockSize + thread.index();
  bool shared = standin_is_shared(&thread, address);
  shadow.forCells(address, bytes, [&](ShadowCell &cell, uintptr_t at) {
    compare(thread, clock, cell.write, at, flags, site);
    if (flags & kRead && shared && cell.write.time == 0 && !unwritten)
      unwritten = {Finding::Kind::Race, "read of what nobody wrote (" + whereIs(thread) +
                                            "): " + textOf(block, site) + " reads " + placeName(block, at)};
    Touch own = {id, clock.time, site};
    if (flags & kWrite) {
      compare(thread, clock, cell.reads[0], at, flags, site);
      compare(thread, clock, cell.reads[1], at, flags, site);
      cell.write = own;
      cell.reads[0] = cell.reads[1] = Touch();
      return;
    }
    // The place of an own read, or of one that everything after this read is ordered behind as well; else of
    // any.
    auto covered = [&](const Touch &read) { return read.time == 0 || ordered(thread, clock, read); };
    Touch *place = cell.reads[0].thread == id && cell.reads[0].time ? &cell.reads[0]
                   : covered(cell.reads[1])                         ? &cell.reads[1]
                   : covered(cell.reads[0])                         ? &cell.reads[0]
                                                                    : &cell.reads[thread.owner()->draw() & 1];
    *place = own;
  });
}

void Races::started(Thread &thread, uintptr_t address, uint32_t bytes, uint32_t site) {
  access(thread, address, bytes, kWrite, site);
  uint32_t id = thread.owner()->linear * blockSize + thread.index();
  shadow.forCells(address, bytes, [&](ShadowCell &cell, uintptr_t) { cell.write = {id, kInFlight, site}; });
}

void Races::landed(Thread &thread, uintptr_t to, uint32_t bytes, uintptr_t from, uint32_t taken,
                   uint32_t site) {
  uint32_t id = thread.owner()->linear * blockSize + thread.index();
  if (taken)
    access(thread, from, taken, kRead, site);
  ThreadClock &clock = clockOf(thread);
  shadow.forCells(to, bytes, [&](ShadowCell &cell, uintptr_t) { cell.write = {id, clock.time, site}; });
}

void Races::readByAsyncProxy(Thread &thread, uintptr_t address, uint64_t bytes, uint32_t site) {
  const Block &block = *thread.owner();
  BlockClocks &clocks = clocksOf(block);
  shadow.forCells(address, bytes, [&](ShadowCell &cell, uintptr_t at) {
    const Touch &write = cell.write;
    if (write.time == 0 || write.thread / blockSize != block.linear)
      return;
    uint32_t writer = write.thread % blockSize;
    const std::vector<uint32_t> &fences = clocks.threads[writer].proxyFences;
    auto next = std::lower_bound(fences.begin(), fences.end(), write.time);
    uint32_t known = writer == thread.index() ? ~0u : (*clockOf(thread).block)[writer];
    if (next == fences.end() || *next > known)
      fail(thread, Finding::Kind::Race,
           "no fence.proxy.async between a write and wgmma (kernel " + launch.request->kernel->name + ", " +
               placeName(block, at) + "): " + textOf(block, write.site) + " by " + threadOf(write.thread) +
               " and " + textOf(block, site));
  });
}

void Races::proxyFence(Thread &thread) {
  ThreadClock &clock = clockOf(thread);
  clock.proxyFences.push_back(clock.time++);
}

// Findings
// ------------------------------------------------------------------------------------------------------------------------

std::string Races::placeName(const Block &block, uintptr_t at) const {
  uintptr_t shared = reinterpret_cast<uintptr_t>(block.shared),
            dynamic = reinterpret_cast<uintptr_t>(block.dynamic);
  if (at >= dynamic && at < dynamic + block.dynamicBytes)
    return "byte " + std::to_string(at - dynamic) + " of dynamic shared memory";
  if (at >= shared && at < dynamic)
    return "byte " + std::to_string(at - shared) + " of static shared memory";
  for (const DeviceGlobal &global : launch.request->kernel->image->globals())
    if (uintptr_t begin = reinterpret_cast<uintptr_t>(global.address);
        at >= begin && at < begin + global.bytes)
      return "byte " + std::to_string(at - begin) + " of @" + global.name;
  // By the parameter that is the last one at or below it: addresses differ from run to run.
  const Kernel &kernel = *launch.request->kernel;
  std::string name;
  uintptr_t best = 0;
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    if (kernel.parameters[i].bytes != sizeof(uintptr_t))
      continue;
    uintptr_t value;
    std::memcpy(&value, static_cast<const char *>(launch.request->parameters) + kernel.parameters[i].offset,
                sizeof(value));
    if (value >= 4096 && value <= at && value > best) {
      best = value;
      name = "byte " + std::to_string(at - value) + " of what parameter " + std::to_string(i) + " points to";
    }
  }
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(at));
  return best ? name : text;
}

std::string Races::threadOf(uint32_t id) const {
  const Dim3 &grid = launch.request->grid, &size = launch.request->block;
  uint32_t block = id / blockSize, index = id % blockSize;
  auto triple = [](uint32_t value, const Dim3 &of) {
    return "(" + std::to_string(value % of.x) + "," + std::to_string(value / of.x % of.y) + "," +
           std::to_string(value / of.x / of.y) + ")";
  };
  return "thread " + triple(index, size) + " of block " + triple(block, grid);
}

void Races::found(Thread &thread, const Touch &earlier, uintptr_t at, uint32_t site) {
  const Block &block = *thread.owner();
  std::string place = "(kernel " + launch.request->kernel->name + ", " + placeName(block, at) + "): ";
  std::string first = std::string(launch.sites[earlier.site].text) + " by " + threadOf(earlier.thread);
  std::string second =
      std::string(textOf(block, site)) + " by " + threadOf(block.linear * blockSize + thread.index());
  if (earlier.time == kInFlight)
    fail(thread, Finding::Kind::Race,
         "an asynchronous copy is not waited for " + place + first + " has not landed at " + second);
  fail(thread, Finding::Kind::Race, "race " + place + first + " and " + second + " are not ordered");
}

// Called by generated code
// --------------------------------------------------------------------------------------------------------

extern "C" {
void standin_track(Thread *thread, uintptr_t address, uint32_t number) {
  const Site &site = thread->owner()->launch->sites[number];
  // Where order matters most, it changes most.
  if (site.flags & kAtomic && thread->owner()->launch->request->seed && thread->owner()->draw() % 4 == 0)
    giveTurn(*thread);
  const SiteRange &range = thread->owner()->ranges[number];
  if (address - range.begin > range.limit || address & (site.align - 1))
    standin_access(thread, address, number);
  thread->owner()->races->access(*thread, address, site.bytes, site.flags, number);
}

void standin_track_bytes(Thread *thread, uintptr_t address, uint64_t bytes, uint32_t number) {
  standin_access_bytes(thread, address, bytes, number);
  if (bytes)
    thread->owner()->races->access(*thread, address, bytes, thread->owner()->launch->sites[number].flags,
                                   number);
}

void standin_fence(Thread *thread, uint32_t flags) { thread->owner()->races->fence(*thread, flags); }
}

} // namespace standin
