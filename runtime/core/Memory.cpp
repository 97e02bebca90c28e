#include "tessera/runtime/core/Memory.h"
#include "tessera/runtime/core/Error.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

namespace tessera::runtime {

Memory::Memory(size_t bytes, const std::string &what, bool dense) : bytes_(bytes) {
  if (bytes == 0)
    return;
  // The system promises more than it has. What is used to the last byte would stop the machine for minutes
  // before the process is killed.
  if (dense && bytes > machineBytes())
    throw Error("cannot allocate memory", what,
                std::to_string(bytes) + " bytes, and this machine has " + std::to_string(machineBytes()),
                "compile for a larger mesh over more machines, or take a smaller or quantized model");
  void *data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    throw Error("cannot allocate memory", what, std::to_string(bytes) + " bytes: " + strerror(errno),
                "compile for a larger mesh, a smaller --batch or a shorter --max-seq-len");
  data_ = static_cast<char *>(data);
  if (dense)
    (void)madvise(data, bytes, MADV_HUGEPAGE); // a wish
}

void Memory::free(void *data, size_t bytes) {
  if (data)
    munmap(data, bytes);
}

Memory::~Memory() { free(data_, bytes_); }

Memory &Memory::operator=(Memory &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

size_t machineBytes() {
  struct sysinfo info;
  return sysinfo(&info) == 0 ? (info.totalram + info.totalswap) * info.mem_unit : SIZE_MAX;
}

int64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  return file >> all >> resident ? resident * sysconf(_SC_PAGESIZE) : -1;
}

} // namespace tessera::runtime
