#include "tessera/runtime/core/Memory.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

namespace tessera::runtime {

// What all objects of this process have, of all ranks.
static std::atomic<size_t> held{0};

Memory::Memory(size_t bytes, const std::string &what, bool isRead) : bytes_(bytes) {
  if (bytes == 0)
    return;
  // The system promises more than it has. What is used to the last byte would stop the machine for minutes
  // before the process is killed.
  const size_t machine = machineBytes(), before = held.fetch_add(bytes);
  auto refused = [&](const std::string &why) {
    held -= bytes;
    return Error(
        "cannot allocate memory", what,
        std::to_string(bytes) + " bytes" +
            (before ? " beside " + std::to_string(before) + " that this process holds" : "") + why,
        "compile for a smaller --batch, a shorter --max-seq-len or a larger mesh over more machines, "
        "or take a smaller or quantized model");
  };
  if (before > machine || bytes > machine - before)
    throw refused(", and there are " + std::to_string(machine) + " for it on this machine");
  void *data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    throw refused(std::string(": ") + strerror(errno));
  data_ = static_cast<char *>(data);
  if (isRead)
    (void)madvise(data, bytes, MADV_HUGEPAGE); // a wish
}

void Memory::free(void *data, size_t bytes) {
  if (!data)
    return;
  munmap(data, bytes);
  held -= bytes;
}

Memory::~Memory() { free(data_, bytes_); }

Memory &Memory::operator=(Memory &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

size_t groupBytes(const std::string &groups, const std::string &root) {
  size_t least = SIZE_MAX;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) { // NUMBER:CONTROLLERS:/PATH
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos)
      continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool isOfAll = controllers.empty(); // version 2
    if (!isOfAll && ("," + controllers + ",").find(",memory,") == line.npos)
      continue;
    // In a container the path may be one of the machine outside, and its own group is the root.
    for (std::string path = line.substr(second + 1);; path.resize(path.find_last_of('/'))) {
      size_t bytes;
      if (std::ifstream(root + (isOfAll ? "" : "/memory") + path +
                        (isOfAll ? "/memory.max" : "/memory.limit_in_bytes")) >>
          bytes)
        least = std::min(least, bytes);
      if (path.find('/') == path.npos)
        break;
    }
  }
  return least;
}

size_t machineBytes() {
  static const size_t bytes = [] {
    struct sysinfo info;
    if (sysinfo(&info) != 0)
      return SIZE_MAX;
    const size_t ram = info.totalram * info.mem_unit, swap = info.totalswap * info.mem_unit;
    std::ostringstream groups;
    groups << std::ifstream("/proc/self/cgroup").rdbuf();
    return std::min(ram, groupBytes(groups.str(), "/sys/fs/cgroup")) + swap;
  }();
  return bytes;
}

int64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  return file >> all >> resident ? resident * sysconf(_SC_PAGESIZE) : -1;
}

} // namespace tessera::runtime
