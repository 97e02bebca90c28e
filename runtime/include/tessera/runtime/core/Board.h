// The board: what every rank is doing right now, readable by all ranks of this machine, and the watch over
// it.
//
// A rank writes its own entry with plain relaxed stores (its main thread; cost: one store a launch). Inside
// one process the board is ordinary memory; under MPI it is a shared-memory segment of the machine's ranks,
// and the entries of other machines are refreshed by messages (comm/mpi, comm/nccl). The watch thread of each
// process looks at it five times a second and ends the run, with a line that names rank and collective, when
//   - the process of a rank is gone,
//   - a rank that computes made no progress for the stall timeout while another waits for it,
//   - a process as a whole stands still (its beat stops): stopped by a signal, machine frozen,
//   - all ranks wait and none makes progress: they wait for each other.
// Honest long work never trips it: every launch, product, block of weights and collective counts as progress,
// and a rank that waits for the outside world (a pipe nobody reads) says so. Time is counted in ticks of the
// watch itself, so a run that is suspended as a whole and continued later goes on.
#ifndef TESSERA_RUNTIME_CORE_BOARD_H
#define TESSERA_RUNTIME_CORE_BOARD_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::runtime {

enum class Activity : int32_t {
  Starting, // not yet, or no longer, watched
  Working,  // computes; `progress` moves
  Waiting,  // in a collective, for others
  Outside,  // reads or writes files, pipes: may take any time
  Finished,
};

// Layout is shared between processes: plain lock-free atomics only.
struct alignas(64) BoardEntry {
  std::atomic<uint64_t> progress{0};
  std::atomic<uint64_t> beat{0}; // of the rank's process
  std::atomic<int32_t> pid{0};   // 0: on another machine
  std::atomic<int32_t> activity{0};
  std::atomic<int32_t> where{
      -1}; // collective of the manifest; < -1: one of the runtime's own (runtimeCollectiveName)
  // Where the host runs ahead of the rank's device: the collective that this is in, as where + kDeviceOffset
  // (0: in none), and how often that changed.
  std::atomic<int32_t> device{0};
  std::atomic<uint32_t> deviceProgress{0};
  static constexpr int32_t kDeviceOffset = 16;

  // Of host and device together: while the device waits for others, so does the rank.
  Activity activityInAll() const;
  int32_t whereInAll() const;
  uint64_t progressInAll() const { return progress.load() + deviceProgress.load(); }
};

// Collectives that the runtime itself runs, as values of BoardEntry::where.
enum RuntimeCollective : int32_t {
  NoCollective = -1,
  BarrierCollective = -2,
  BroadcastCollective = -3,
  GatherCollective = -4,
  MessageCollective = -5
};

inline Activity BoardEntry::activityInAll() const {
  auto own = Activity(activity.load());
  bool watched = own != Activity::Starting && own != Activity::Finished;
  return watched && device.load() != 0 ? Activity::Waiting : own;
}
inline int32_t BoardEntry::whereInAll() const {
  int32_t code = device.load();
  return code != 0 ? code - kDeviceOffset : where.load();
}

class Board {
public:
  static size_t bytesFor(int64_t ranks);
  // In `memory` (bytesFor bytes, zeroed, 64-byte aligned), or in memory of its own if null.
  explicit Board(int64_t ranks, void *memory = nullptr);
  ~Board();

  int64_t ranks() const { return ranks_; }
  BoardEntry &entry(int64_t rank) { return entries_[rank]; }

  // True for exactly one caller among all that share this board.
  bool claimReport() { return header_->reported.exchange(1) == 0; }
  bool reported() const { return header_->reported.load() != 0; }

private:
  struct Header {
    std::atomic<uint32_t> reported;
  };
  int64_t ranks_;
  void *owned_ = nullptr;
  Header *header_;
  BoardEntry *entries_;
};

// "collective 3 all_reduce over tp", from BoardEntry::where. Must be usable in a signal handler: returns
// prepared text.
struct CollectiveNames {
  std::vector<std::string> names; // by manifest index
  const char *name(int32_t where) const;
};

// The watch thread of one process. `local`: the ranks of this process, whose beat it drives.
class Watch {
public:
  Watch(Board &board, std::vector<int64_t> local, const CollectiveNames &names, double stallSeconds);
  ~Watch();
  // Called at every tick, before looking (refreshes the entries of other machines).
  void setTickHook(void (*hook)(void *), void *context);
  void start();
  // One look at the board, as the thread takes every `tickSeconds`: patience is counted in ticks, nobody asks
  // a clock.
  void tick();
  int64_t patience() const; // ticks without progress that are a stall

private:
  struct State;
  std::unique_ptr<State> state_;
};

// The rank whose thread this is (its workers included); -1: none.
inline int64_t &currentRank() {
  static thread_local int64_t rank = -1;
  return rank;
}

// True if the process ended, reaped by its parent or not. Safe in signal handlers.
bool processGone(int32_t pid);

// 6, or TESSERA_STALL_TIMEOUT in seconds (at least 0.5). Throws Error if that is no number.
double stallTimeout();

} // namespace tessera::runtime
#endif
