// Anonymous memory taken straight from the system: zeroed, page-aligned, given back whole.
#ifndef TESSERA_RUNTIME_CORE_MEMORY_H
#define TESSERA_RUNTIME_CORE_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace tessera::runtime {

class Memory {
public:
  Memory() = default;
  // Throws Error naming `what` if the system has not that much, or this process would hold more in all of
  // these objects than the machine has for it. Is read: in long streams, so large pages are asked for.
  Memory(size_t bytes, const std::string &what, bool isRead = false);
  ~Memory();
  Memory(Memory &&other) noexcept : data_(other.data_), bytes_(other.bytes_) {
    other.data_ = nullptr, other.bytes_ = 0;
  }
  Memory &operator=(Memory &&other) noexcept;

  char *data() const { return data_; }
  size_t bytes() const { return bytes_; }
  // Gives the memory up: free() takes it from now on.
  char *release() {
    bytes_ = 0;
    return std::exchange(data_, nullptr);
  }
  static void free(void *data, size_t bytes);

private:
  char *data_ = nullptr;
  size_t bytes_ = 0;
};

// What this process may have: the machine's memory and swap space, or what its control groups have of them if
// that is less.
size_t machineBytes();

// The least limits of the groups that `groups` (/proc/self/cgroup) names below `root`, and of those that they
// are in; SIZE_MAX: none.
struct GroupLimits {
  size_t memory = SIZE_MAX, swap = SIZE_MAX, both = SIZE_MAX; // both: memory and swap space together
  // Of a machine that has so much memory and swap space.
  size_t bytesOf(size_t ram, size_t swapSpace) const;
};
GroupLimits groupLimits(const std::string &groups, const std::string &root);

// Resident memory of this process, of all its ranks and of files that are mapped; -1: the system does not
// say.
int64_t residentBytes();

} // namespace tessera::runtime
#endif
