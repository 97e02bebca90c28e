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

namespace {
struct Most {
  size_t bytes;
  bool isOfGroup; // else of the machine
};
} // namespace

static Most mostBytes() {
  static const Most most = []() -> Most {
    struct sysinfo info;
    if (sysinfo(&info) != 0)
      return {SIZE_MAX, false};
    const size_t ram = info.totalram * info.mem_unit, swap = info.totalswap * info.mem_unit;
    std::ostringstream groups;
    groups << std::ifstream("/proc/self/cgroup").rdbuf();
    const size_t bytes = groupLimits(groups.str(), "/sys/fs/cgroup").bytesOf(ram, swap);
    return {bytes, bytes < ram + swap};
  }();
  return most;
}

Memory::Memory(size_t bytes, const std::string &what, bool isRead) : bytes_(bytes) {
  if (bytes == 0)
    return;
  // The system promises more than it has. What is used to the last byte would stop the machine for minutes
  // before the process is killed.
  const Most most = mostBytes();
  size_t before = held;
  auto refused = [&](const std::string &why, const std::string &hint) {
    return Error(
        "cannot allocate memory", what,
        std::to_string(bytes) + " bytes" +
            (before ? " beside " + std::to_string(before) + " that this process holds" : "") + why,
        hint + "compile for a smaller --batch, a shorter --max-seq-len or a larger mesh over more machines, "
               "or take a smaller or quantized model");
  };
  do
    if (before > most.bytes || bytes > most.bytes - before)
      throw refused(", and there are " + std::to_string(most.bytes) + " for it " +
                        (most.isOfGroup ? "of its control group" : "on this machine"),
                    most.isOfGroup ? "allow it more memory, " : "");
  while (!held.compare_exchange_weak(before, before + bytes));
  void *data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    const int code = errno;
    held -= bytes;
    throw refused(std::string(": ") + strerror(code),
                  code == ENOMEM ? "allow this process more memory (ulimit -v), " : "");
  }
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

size_t GroupLimits::bytesOf(size_t ram, size_t swapSpace) const {
  return std::min(std::min(ram, memory) + std::min(swapSpace, swap), both);
}

GroupLimits groupLimits(const std::string &groups, const std::string &root) {
  GroupLimits least;
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
      const std::string folder = root + (isOfAll ? "" : "/memory") + path;
      auto read = [&](const char *name, size_t &limit) {
        size_t bytes; // "max" is none
        if (std::ifstream(folder + "/" + name) >> bytes)
          limit = std::min(limit, bytes);
      };
      read(isOfAll ? "memory.max" : "memory.limit_in_bytes", least.memory);
      if (isOfAll)
        read("memory.swap.max", least.swap);
      else
        read("memory.memsw.limit_in_bytes", least.both);
      if (path.find('/') == path.npos)
        break;
    }
  }
  return least;
}

size_t machineBytes() { return mostBytes().bytes; }

int64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  return file >> all >> resident ? resident * sysconf(_SC_PAGESIZE) : -1;
}

} // namespace tessera::runtime
