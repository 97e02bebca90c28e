// Memory that only tasks of the device may touch.
#ifndef TESSERA_RUNTIME_TEST_CHECKED_SPACE_H
#define TESSERA_RUNTIME_TEST_CHECKED_SPACE_H

#include "tessera/runtime/core/Memory.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace tessera::runtime::checked {

class Space {
public:
  // An address with the tag: reading there ends the process.
  void *allocate(size_t bytes, const std::string &what);
  void release(void *address);
  // Where the `bytes` at a tagged address are. Throws Error naming `user` unless they lie in one allocation.
  char *find(const void *address, size_t bytes, const std::string &user);
  // "the arena of rank 0" and the offset there, for messages.
  std::string describe(uintptr_t address);

  // Bit 55: not canonical where user addresses have 47 bits, never mapped where they have 56, the kernel's
  // half on AArch64.
  static constexpr uintptr_t tag = uintptr_t(1) << 55;

private:
  struct Allocation {
    Memory memory;
    size_t bytes;
    std::string what;
  };
  using Map = std::map<uintptr_t, Allocation>;
  Map::iterator holding(uintptr_t address);

  std::mutex mutex_; // communication tasks of peers look addresses up too
  Map allocations_;  // by address without the tag
};

} // namespace tessera::runtime::checked
#endif
