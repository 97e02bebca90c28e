// Memory that the ranks of one communicator share, threads of one process and processes of one machine alike:
// who is there, and a ring of bytes from each rank to each.
#ifndef TESSERA_TEST_STANDIN_NCCL_SEGMENT_H
#define TESSERA_TEST_STANDIN_NCCL_SEGMENT_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace standin::nccl {

constexpr int kMostRanks = 64;

// Bytes from one rank to another. One of them writes, the other reads.
struct Ring {
  static constexpr size_t capacity = 64 << 10;
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
  alignas(64) char data[capacity];

  // As much as there is room for, or as has come: how many bytes.
  size_t put(const char *from, size_t bytes);
  size_t take(char *into, size_t bytes);
};

// Something that a rank has begun and that waits for others: for whoever looks for circles (Waits.h).
struct Waiting {
  std::atomic<uint64_t> key;     // of communicator and call; 0: nothing
  std::atomic<uint64_t> missing; // ranks of the world that have not come to it
  std::atomic<uint64_t> looks;   // how often the rank has said so: one that is stopped does not go on with it
  char text[128];
};

struct Member {
  std::atomic<int32_t> present;
  int32_t pid, device;
  char host[64];
  int32_t worldRank;
  // ncclCommSplit, in turns.
  std::atomic<uint64_t> splits;
  int32_t color[2], key[2]; // of the last two turns: a rank is at most one ahead
  Waiting waiting[8];
};

class Segment {
public:
  // Finds or makes the segment of `name`, as rank `rank` of `ranks`. Does not wait for the others. Ends the
  // process with a finding if they contradict each other.
  static std::shared_ptr<Segment> arrive(const std::string &name, int ranks, int rank);
  // This rank has said what others may read of it. The last one frees the name.
  void announce();
  // Waits until all have.
  void complete();
  ~Segment();
  Segment(const Segment &) = delete;

  const std::string &name() const { return name_; }
  int ranks() const { return ranks_; }
  Member &member(int rank);
  Ring &ring(int from, int to);

private:
  struct Header;
  Segment(std::string name, int ranks, void *memory)
      : name_(std::move(name)), ranks_(ranks), memory_(memory) {}
  static size_t bytesFor(int ranks);
  Header &header() { return *static_cast<Header *>(memory_); }

  std::string name_;
  int ranks_;
  void *memory_;
};

// Prints "stand-in: TEXT" and ends the process with status 86: what real libraries would do in silence, or
// never come to an end with.
[[noreturn]] void finding(const std::string &text);

} // namespace standin::nccl
#endif
