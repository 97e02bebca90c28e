// Anonymous memory taken straight from the system: zeroed, page-aligned, given back whole.
#ifndef TESSERA_RUNTIME_CORE_MEMORY_H
#define TESSERA_RUNTIME_CORE_MEMORY_H

#include <cstddef>
#include <string>

namespace tessera::runtime {

class Memory {
public:
  Memory() = default;
  // Throws Error naming `what` if the system has not that much. Dense: all of it will be used, and read in
  // long streams; large pages are asked for.
  Memory(size_t bytes, const std::string &what, bool dense = false);
  ~Memory();
  Memory(Memory &&other) noexcept : data_(other.data_), bytes_(other.bytes_) {
    other.data_ = nullptr, other.bytes_ = 0;
  }
  Memory &operator=(Memory &&other) noexcept;

  char *data() const { return data_; }
  size_t bytes() const { return bytes_; }

private:
  char *data_ = nullptr;
  size_t bytes_ = 0;
};

} // namespace tessera::runtime
#endif
