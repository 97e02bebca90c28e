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
  // Throws Error naming `what` if the system has not that much. Dense: all of it will be used, so the
  // machine has to have it, and read in long streams; large pages are asked for.
  Memory(size_t bytes, const std::string &what, bool dense = false);
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

// The machine's memory and swap space.
size_t machineBytes();

// Resident memory of this process, of all its ranks and of files that are mapped; -1: the system does not
// say.
int64_t residentBytes();

} // namespace tessera::runtime
#endif
