#include "Space.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>

namespace tessera::runtime::checked {

void *Space::allocate(size_t bytes, const std::string &what) {
  Memory memory(std::max<size_t>(bytes, 64), what);
  uintptr_t address = reinterpret_cast<uintptr_t>(memory.data());
  std::lock_guard<std::mutex> lock(mutex_);
  allocations_.emplace(address, Allocation{std::move(memory), bytes, what});
  return reinterpret_cast<void *>(address | tag);
}

void Space::release(void *address) {
  std::lock_guard<std::mutex> lock(mutex_);
  allocations_.erase(reinterpret_cast<uintptr_t>(address) & ~tag);
}

Space::Map::iterator Space::holding(uintptr_t address) {
  auto after = allocations_.upper_bound(address);
  return after == allocations_.begin() ? allocations_.end() : std::prev(after);
}

char *Space::find(const void *tagged, size_t bytes, const std::string &user) {
  uintptr_t address = reinterpret_cast<uintptr_t>(tagged);
  auto fail = [&](const std::string &why) {
    throw Error("wrong address", user, why, "hand on what the device gave, and offsets from it");
  };
  if (!(address & tag))
    fail("it is no address of device memory");
  address &= ~tag;
  std::lock_guard<std::mutex> lock(mutex_);
  auto at = holding(address);
  if (at == allocations_.end() || address > at->first + at->second.bytes)
    fail("nothing is allocated there");
  else if (bytes > at->second.bytes - (address - at->first))
    fail(std::to_string(bytes) + " bytes at " + std::to_string(address - at->first) + " reach beyond " +
         at->second.what + ", which has " + std::to_string(at->second.bytes));
  return reinterpret_cast<char *>(address);
}

std::string Space::describe(uintptr_t address) {
  address &= ~tag;
  std::lock_guard<std::mutex> lock(mutex_);
  auto at = holding(address);
  return at == allocations_.end() ? "device memory"
                                  : at->second.what + " at " + std::to_string(address - at->first);
}

} // namespace tessera::runtime::checked
