#include "LaunchMemory.h"
#include "Report.h"

#include <algorithm>
#include <atomic>

namespace standin {

// Ranges in the order of accesses; sorted and joined now and then.
struct LaunchMemory::Log {
  std::vector<TouchedBytes> ranges[2]; // read, written
  size_t next[2] = {4096, 4096};

  void add(uintptr_t begin, uintptr_t end, bool writes) {
    std::vector<TouchedBytes> &list = ranges[writes];
    if (!list.empty() && begin >= list.back().begin &&
        begin <= list.back().end) { // a neighbour of the last one
      list.back().end = std::max(list.back().end, end);
      return;
    }
    list.push_back({begin, end, writes});
    if (list.size() > next[writes]) {
      join(list);
      next[writes] = std::max<size_t>(4096, 2 * list.size());
    }
  }

  static void join(std::vector<TouchedBytes> &list) {
    std::sort(list.begin(), list.end(),
              [](const TouchedBytes &a, const TouchedBytes &b) { return a.begin < b.begin; });
    size_t kept = 0;
    for (const TouchedBytes &bytes : list)
      if (kept && bytes.begin <= list[kept - 1].end)
        list[kept - 1].end = std::max(list[kept - 1].end, bytes.end);
      else
        list[kept++] = bytes;
    list.resize(kept);
  }
};

static std::atomic<uint64_t> launches{0};

LaunchMemory::LaunchMemory(std::shared_ptr<const std::vector<AllocationRef>> all, int device,
                           std::set<int> peers, bool records)
    : all_(std::move(all)), device_(device), peers_(std::move(peers)), records_(records),
      number_(++launches) {}

LaunchMemory::~LaunchMemory() = default;

const Allocation *LaunchMemory::holding(uintptr_t address) const {
  auto after = std::upper_bound(all_->begin(), all_->end(), address,
                                [](uintptr_t a, const AllocationRef &b) { return a < b->begin; });
  if (after == all_->begin())
    return nullptr;
  const Allocation *found = std::prev(after)->get();
  return address < found->end ? found : nullptr;
}

bool LaunchMemory::allowed(const Allocation &memory) const {
  return !memory.onDevice() || memory.device == device_ || peers_.count(memory.device);
}

std::optional<MemoryRange> LaunchMemory::find(uintptr_t address) const {
  const Allocation *found = holding(address);
  if (!found || !allowed(*found))
    return std::nullopt;
  return MemoryRange{found->begin, found->end, true};
}

LaunchMemory::Log &LaunchMemory::log() const {
  // Threads of the engine serve one launch after another.
  static thread_local uint64_t number = 0;
  static thread_local Log *mine = nullptr;
  if (number != number_) {
    std::lock_guard<std::mutex> lock(mutex_);
    logs_.push_back(std::make_unique<Log>());
    mine = logs_.back().get();
    number = number_;
  }
  return *mine;
}

std::optional<MemoryRange> LaunchMemory::access(uintptr_t address, uint64_t bytes, bool writes) const {
  std::optional<MemoryRange> range = find(address);
  if (!records_ || !range || bytes > range->end - address)
    return range;
  log().add(address, address + bytes, writes);
  return MemoryRange{address, address + bytes, true};
}

std::string LaunchMemory::explain(uintptr_t address, size_t bytes) const {
  if (const Allocation *found = holding(address)) {
    if (!allowed(*found))
      return found->name() + ", which device " + std::to_string(device_) + " has no access to";
    return countOf(bytes, "byte") + " at " + std::to_string(address - found->begin) + " of " + found->name();
  }
  Machine &machine = Machine::get();
  std::lock_guard<std::mutex> lock(machine.mutex);
  return machine.memory.describe(address);
}

std::vector<TouchedBytes> LaunchMemory::touched() const {
  std::vector<TouchedBytes> all[2];
  for (const auto &log : logs_)
    for (int writes : {0, 1})
      all[writes].insert(all[writes].end(), log->ranges[writes].begin(), log->ranges[writes].end());
  Log::join(all[0]);
  Log::join(all[1]);
  all[0].insert(all[0].end(), all[1].begin(), all[1].end());
  return all[0];
}

} // namespace standin
