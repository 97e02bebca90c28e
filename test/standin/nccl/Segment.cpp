#include "Segment.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace standin::nccl {

void finding(const std::string &text) {
  std::string line = "stand-in: " + text + "\n";
  ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  (void)written;
  _exit(86);
}

size_t Ring::put(const char *from, size_t bytes) {
  uint64_t at = written.load(std::memory_order_relaxed);
  size_t count = std::min<size_t>(bytes, capacity - size_t(at - read.load(std::memory_order_acquire)));
  for (size_t done = 0; done < count;) {
    size_t place = size_t((at + done) % capacity), part = std::min(count - done, capacity - place);
    memcpy(data + place, from + done, part);
    done += part;
  }
  written.store(at + count, std::memory_order_release);
  return count;
}

size_t Ring::take(char *into, size_t bytes) {
  uint64_t at = read.load(std::memory_order_relaxed);
  size_t count = std::min<size_t>(bytes, size_t(written.load(std::memory_order_acquire) - at));
  for (size_t done = 0; done < count;) {
    size_t place = size_t((at + done) % capacity), part = std::min(count - done, capacity - place);
    memcpy(into + done, data + place, part);
    done += part;
  }
  read.store(at + count, std::memory_order_release);
  return count;
}

// All of it is zero at first, which is a valid state.
struct Segment::Header {
  int32_t creator; // first: read before it is known how large the rest is
  std::atomic<int32_t> arrived;
  alignas(64) Member members[kMostRanks];
};

size_t Segment::bytesFor(int ranks) {
  return sizeof(Header) + alignof(Ring) + sizeof(Ring) * size_t(ranks) * size_t(ranks);
}

Member &Segment::member(int rank) { return header().members[rank]; }

Ring &Segment::ring(int from, int to) {
  auto base = reinterpret_cast<uintptr_t>(memory_) + sizeof(Header);
  base = (base + alignof(Ring) - 1) / alignof(Ring) * alignof(Ring);
  return reinterpret_cast<Ring *>(base)[from * ranks_ + to];
}

// One process or thread at a time finds, makes and removes names. Without it two that find what another run
// left could both remove it, the second one what the first has made anew, and wait for each other in two
// segments. Who dies lets go of it.
class NamesLock {
public:
  NamesLock() : folder_(open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_ < 0)
      finding(std::string("cannot open /dev/shm: ") + strerror(errno));
    while (flock(folder_, LOCK_EX) != 0)
      if (errno != EINTR)
        finding(std::string("cannot lock /dev/shm: ") + strerror(errno));
  }
  ~NamesLock() { close(folder_); }
  NamesLock(const NamesLock &) = delete;

private:
  int folder_;
};

std::shared_ptr<Segment> Segment::arrive(const std::string &name, int ranks, int rank) {
  NamesLock lock;
  size_t bytes = bytesFor(ranks);
  for (;;) {
    int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
    if (file < 0)
      finding("cannot make " + name + " in /dev/shm: " + strerror(errno));
    struct stat facts = {};
    fstat(file, &facts);
    // An empty one was made just now, or by a process that ended at once.
    bool creates = facts.st_size == 0;
    if (creates && ftruncate(file, off_t(bytes)) != 0)
      finding("cannot make " + name + " in /dev/shm: " + strerror(errno));
    // Left by a run that ended before all had come: a fixed name (NCCL_COMM_ID) meets those.
    int32_t creator = 0;
    if (!creates && (pread(file, &creator, sizeof(creator), 0) != sizeof(creator) || creator == 0 ||
                     (kill(creator, 0) != 0 && errno == ESRCH))) {
      close(file);
      shm_unlink(name.c_str());
      continue;
    }
    if (!creates && size_t(facts.st_size) != bytes)
      finding("rank " + std::to_string(rank) + " calls ncclCommInitRank with " + std::to_string(ranks) +
              " ranks where others have another number");
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED)
      finding("cannot map " + name + ": " + strerror(errno));
    if (creates)
      static_cast<Header *>(memory)->creator = int32_t(getpid());
    std::shared_ptr<Segment> segment(new Segment(name, ranks, memory));
    if (segment->member(rank).present.exchange(1) != 0)
      finding("two ranks call ncclCommInitRank as rank " + std::to_string(rank));
    return segment;
  }
}

void Segment::announce() {
  NamesLock lock;
  // The name is free before any rank goes on: the next communicator may have it.
  if (header().arrived.load() == ranks_ - 1)
    shm_unlink(name_.c_str());
  header().arrived.fetch_add(1);
}

void Segment::complete() {
  while (header().arrived.load() < ranks_)
    usleep(200);
}

Segment::~Segment() { munmap(memory_, bytesFor(ranks_)); }

} // namespace standin::nccl
