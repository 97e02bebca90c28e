#include "Memory.h"
#include "Report.h"

#include <cstring>
#include <sys/mman.h>

namespace standin {

static constexpr size_t kRegion = size_t(1) << 40; // of the address space, for each device
static constexpr size_t kPage = 4096;

std::string Allocation::name() const {
  std::string size = " (" + countOf(bytes(), "byte") + ")";
  switch (kind) {
  case Kind::Device:
    return "allocation " + std::to_string(id) + " of device " + std::to_string(device) + size;
  case Kind::Global:
    return "global variables of a module on device " + std::to_string(device) + size;
  case Kind::Pinned:
    return "pinned allocation " + std::to_string(id) + size;
  case Kind::Registered:
    break;
  }
  return "registered memory " + std::to_string(id) + size;
}

bool MemoryTable::reserve(int device) {
  if (regions_.count(device))
    return true;
  void *region = mmap(nullptr, kRegion, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED)
    return false;
  auto begin = reinterpret_cast<uintptr_t>(region);
  regions_[device] = {begin, begin + kRegion};
  next_[device] = begin + kPage;
  return true;
}

AllocationRef MemoryTable::allocate(Allocation::Kind kind, int device, size_t bytes) {
  auto made = std::make_shared<Allocation>();
  uintptr_t at;
  size_t mapped;
  if (kind == Allocation::Kind::Device) {
    if (!reserve(device))
      return nullptr;
    // A program may count on 256 bytes of alignment and on no more.
    uintptr_t offset = randomBits(settings().seed, 77, count_) % 2 ? 256 : 0;
    at = next_[device] + offset;
    mapped = (offset + bytes + kPage - 1) / kPage * kPage;
    if (mapped + kPage > regions_[device].second - next_[device])
      return nullptr;
    if (mprotect(reinterpret_cast<void *>(next_[device]), mapped, PROT_READ | PROT_WRITE) != 0)
      return nullptr;
    next_[device] += mapped + kPage;
  } else {
    mapped = (bytes + kPage - 1) / kPage * kPage;
    void *memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return nullptr;
    at = reinterpret_cast<uintptr_t>(memory);
  }
  memset(reinterpret_cast<void *>(at), 0xff, bytes);
  *made = {++count_, at, at + bytes, kind, device, mapped};
  live_[at] = made;
  // The system may give pages of pinned memory again.
  auto old = freed_.lower_bound(at);
  while (old != freed_.end() && old->first < at + mapped)
    old = freed_.erase(old);
  snapshot_ = nullptr;
  return made;
}

AllocationRef MemoryTable::add(Allocation::Kind kind, int device, uintptr_t begin, size_t bytes) {
  auto after = live_.lower_bound(begin);
  if ((after != live_.end() && after->first < begin + bytes) || find(begin))
    return nullptr;
  auto made = std::make_shared<Allocation>();
  *made = {++count_, begin, begin + bytes, kind, device, 0};
  live_[begin] = made;
  snapshot_ = nullptr;
  return made;
}

void MemoryTable::release(const AllocationRef &allocation) {
  live_.erase(allocation->begin);
  snapshot_ = nullptr;
  if (!allocation->mapped)
    return;
  freed_[allocation->begin] = allocation;
  void *pages = reinterpret_cast<void *>(allocation->begin / kPage * kPage);
  if (allocation->kind == Allocation::Kind::Device) {
    // The pages go, the addresses stay ours.
    mmap(pages, allocation->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
         0);
  } else {
    munmap(pages, allocation->mapped);
  }
}

AllocationRef MemoryTable::find(uintptr_t address) const {
  auto after = live_.upper_bound(address);
  if (after == live_.begin())
    return nullptr;
  const AllocationRef &found = std::prev(after)->second;
  return address < found->end ? found : nullptr;
}

AllocationRef MemoryTable::find(uintptr_t address, size_t bytes, std::string &why) const {
  AllocationRef found = find(address);
  if (!found) {
    why = describe(address);
  } else if (bytes > found->end - address) {
    why = countOf(bytes, "byte") + " at " + std::to_string(address - found->begin) + " reach beyond " +
          found->name();
    return nullptr;
  }
  return found;
}

bool MemoryTable::isDeviceAddress(uintptr_t address) const {
  for (const auto &[device, region] : regions_)
    if (address >= region.first && address < region.second)
      return true;
  return false;
}

std::string MemoryTable::describe(uintptr_t address) const {
  auto after = freed_.upper_bound(address);
  if (after != freed_.begin()) {
    const AllocationRef &old = std::prev(after)->second;
    if (address < old->end)
      return hex(address) + " lies in memory that was freed: " + old->name();
  }
  auto behind = live_.upper_bound(address);
  if (behind != live_.begin()) {
    const AllocationRef &before = std::prev(behind)->second;
    if (address - before->end < kPage)
      return hex(address) + " is " + countOf(address - before->end, "byte") + " behind the end of " +
             before->name();
  }
  if (address < kPage)
    return hex(address) + " is null";
  return "nothing is allocated at " + hex(address);
}

std::string MemoryTable::place(uintptr_t address) const {
  AllocationRef found = find(address);
  return found ? "byte " + std::to_string(address - found->begin) + " of " + found->name()
               : describe(address);
}

size_t MemoryTable::used(int device) const {
  size_t bytes = 0;
  for (const auto &[begin, allocation] : live_)
    if (allocation->device == device && allocation->onDevice())
      bytes += allocation->bytes();
  return bytes;
}

std::vector<AllocationRef> MemoryTable::ofDevice(int device) const {
  std::vector<AllocationRef> found;
  for (const auto &[begin, allocation] : live_)
    if (allocation->device == device)
      found.push_back(allocation);
  return found;
}

std::shared_ptr<const std::vector<AllocationRef>> MemoryTable::snapshot() {
  if (!snapshot_) {
    auto list = std::make_shared<std::vector<AllocationRef>>();
    for (const auto &[begin, allocation] : live_)
      list->push_back(allocation);
    snapshot_ = list;
  }
  return snapshot_;
}

} // namespace standin
