#include "LaunchMemory.h"
#include "Report.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <unordered_map>

namespace standin {

// Bytes read and bytes written: a bit each, in pages.
static constexpr size_t kPage = 4096, kWords = kPage / 64;
using PageBits = std::array<uint64_t, kWords>;

static void setBits(PageBits &bits, size_t begin, size_t end) {
  for (size_t word = begin / 64; word * 64 < end; ++word) {
    uint64_t mask = ~uint64_t(0);
    if (word * 64 < begin)
      mask <<= begin - word * 64;
    if (end - word * 64 < 64)
      mask &= ~(~uint64_t(0) << (end - word * 64));
    bits[word] |= mask;
  }
}

struct LaunchMemory::Log {
  std::unordered_map<uintptr_t, PageBits> pages[2]; // by whether they are written
  struct Recent {
    uintptr_t page = UINTPTR_MAX;
    PageBits *bits = nullptr;
  } recent[2][32];

  PageBits &page(uintptr_t number, bool writes) {
    Recent &last = recent[writes][(number ^ number >> 5) % 32];
    if (last.page != number)
      last = {number, &pages[writes][number]}; // which stays where it is
    return *last.bits;
  }
  void add(uintptr_t begin, uintptr_t end, bool writes) {
    while (begin < end) {
      uintptr_t number = begin / kPage, next = std::min(end, (number + 1) * kPage);
      setBits(page(number, writes), begin - number * kPage, next - number * kPage);
      begin = next;
    }
  }
};

// Adds the runs of ones, joined over pages that follow each other.
static void addRuns(const std::map<uintptr_t, PageBits> &pages, bool writes,
                    std::vector<TouchedBytes> &runs) {
  size_t first = runs.size();
  auto add = [&](uintptr_t begin, uintptr_t end) {
    if (runs.size() > first && runs.back().end == begin)
      runs.back().end = end;
    else
      runs.push_back({begin, end, writes});
  };
  for (const auto &[number, bits] : pages)
    for (size_t word = 0; word < kWords; ++word) {
      uintptr_t base = number * kPage + word * 64;
      uint64_t left = bits[word];
      if (left == ~uint64_t(0)) {
        add(base, base + 64);
        continue;
      }
      while (left) {
        int begin = __builtin_ctzll(left), length = __builtin_ctzll(~(left >> begin));
        add(base + begin, base + begin + length);
        left &= ~(((uint64_t(1) << length) - 1) << begin);
      }
    }
}

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
  std::vector<TouchedBytes> runs;
  for (bool writes : {false, true}) {
    std::map<uintptr_t, PageBits> all;
    for (const auto &log : logs_)
      for (const auto &[number, bits] : log->pages[writes]) {
        PageBits &sum = all[number];
        for (size_t word = 0; word < kWords; ++word)
          sum[word] |= bits[word];
      }
    addRuns(all, writes, runs);
  }
  return runs;
}

} // namespace standin
