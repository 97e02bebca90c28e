#include "tessera/runtime/core/Board.h"
#include "tessera/runtime/core/Error.h"

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <new>
#include <thread>
#include <unistd.h>

namespace tessera::runtime {

size_t Board::bytesFor(int64_t ranks) { return 64 + sizeof(BoardEntry) * size_t(ranks); }

Board::Board(int64_t ranks, void *memory) : ranks_(ranks) {
  if (!memory) {
    memory = owned_ = aligned_alloc(64, bytesFor(ranks));
    if (!memory)
      throw std::bad_alloc();
    memset(memory, 0, bytesFor(ranks));
    header_ = new (memory) Header();
    entries_ = reinterpret_cast<BoardEntry *>(static_cast<char *>(memory) + 64);
    for (int64_t i = 0; i < ranks; ++i)
      new (&entries_[i]) BoardEntry();
    return;
  }
  // Shared memory: other processes may be writing already; the zeroes it came with are valid atomics.
  header_ = static_cast<Header *>(memory);
  entries_ = reinterpret_cast<BoardEntry *>(static_cast<char *>(memory) + 64);
}

Board::~Board() { free(owned_); }

const char *CollectiveNames::name(int32_t where) const {
  switch (where) {
  case BarrierCollective:
    return "the barrier of all ranks";
  case BroadcastCollective:
    return "the broadcast of tokens";
  case GatherCollective:
    return "the gathering of outputs";
  case MessageCollective:
    return "a message";
  default:
    return where >= 0 && where < int32_t(names.size()) ? names[where].c_str() : "between collectives";
  }
}

double stallTimeout() {
  const char *text = getenv("TESSERA_STALL_TIMEOUT");
  if (!text || !*text)
    return 6;
  char *end = nullptr;
  double seconds = strtod(text, &end);
  if (*end || !(seconds >= 0.5) || seconds > 1e9)
    throw Error("cannot read a setting", "TESSERA_STALL_TIMEOUT=" + std::string(text),
                "it is no number of seconds of at least 0.5", "unset it for the default of 6");
  return seconds;
}

bool processGone(int32_t pid) {
  if (kill(pid, 0) != 0)
    return errno == ESRCH;
  // "/proc/PID/stat": "PID (name) S ...". By hand: this runs in signal handlers too.
  char path[32] = "/proc/", digits[16], text[512];
  int n = 0, at = 6;
  do
    digits[n++] = char('0' + pid % 10);
  while (pid /= 10);
  while (n > 0)
    path[at++] = digits[--n];
  memcpy(path + at, "/stat", 6);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return errno == ENOENT;
  ssize_t size = read(file, text, sizeof(text) - 1);
  close(file);
  text[size > 0 ? size : 0] = 0;
  const char *state = strrchr(text, ')');
  return state && state[1] == ' ' && (state[2] == 'Z' || state[2] == 'X');
}

struct Watch::State {
  Board &board;
  std::vector<int64_t> local;
  const CollectiveNames &names;
  double tickSeconds;
  int64_t patience; // ticks
  void (*hook)(void *) = nullptr;
  void *hookContext = nullptr;

  struct Seen {
    uint64_t progress = 0, beat = 0;
    int64_t quiet = 0, silent = 0, waiting = 0; // ticks without progress, without a beat, in Waiting
  };
  std::vector<Seen> seen;

  std::mutex mutex;
  std::condition_variable wake;
  bool stop = false;
  std::thread thread;

  State(Board &board, std::vector<int64_t> local, const CollectiveNames &names, double stallSeconds)
      : board(board), local(std::move(local)), names(names), tickSeconds(std::min(0.2, stallSeconds / 5)),
        patience(int64_t(stallSeconds / tickSeconds)), seen(board.ranks()) {}

  void loop() {
    std::unique_lock<std::mutex> lock(mutex);
    while (!wake.wait_for(lock, std::chrono::duration<double>(tickSeconds), [&] { return stop; }))
      tick();
  }

  // The collective in which somebody waits for `rank`; else where that rank itself was last.
  std::string whereFor(int64_t rank) {
    int64_t waiter = -1;
    for (int64_t r = 0; r < board.ranks(); ++r) {
      if (r == rank || board.entry(r).activityInAll() != Activity::Waiting)
        continue;
      // One that waits in a collective of the program says more than one in the runtime's own, which it met
      // later.
      if (waiter < 0 || board.entry(waiter).whereInAll() < 0)
        waiter = r;
    }
    if (waiter >= 0)
      return std::string(names.name(board.entry(waiter).whereInAll())) + ", in which rank " +
             std::to_string(waiter) + " waits";
    return names.name(board.entry(rank).whereInAll());
  }

  void tick() {
    for (int64_t rank : local)
      board.entry(rank).beat.fetch_add(1, std::memory_order_relaxed);
    if (hook)
      hook(hookContext);
    bool anyPatienceLost = false, allStuck = true;
    for (int64_t r = 0; r < board.ranks(); ++r) {
      BoardEntry &entry = board.entry(r);
      Activity activity = entry.activityInAll();
      int32_t pid = entry.pid;
      if (activity != Activity::Finished && pid != 0 && pid != getpid() && processGone(pid))
        endRun("rank " + std::to_string(r) + " ended (" + whereFor(r) + "): its process " +
               std::to_string(pid) + " is gone; look for what killed it");
      Seen &s = seen[r];
      uint64_t progress = entry.progressInAll(), beat = entry.beat;
      s.quiet = progress == s.progress ? s.quiet + 1 : 0;
      s.silent = beat == s.beat ? s.silent + 1 : 0;
      s.waiting = activity == Activity::Waiting && s.quiet ? s.waiting + 1 : 0;
      s.progress = progress;
      s.beat = beat;
      anyPatienceLost |= s.waiting >= patience;
      bool stuck = activity == Activity::Finished || s.waiting >= patience;
      allStuck &= stuck;
    }
    if (!anyPatienceLost)
      return;
    for (int64_t r = 0; r < board.ranks(); ++r) {
      Activity activity = board.entry(r).activityInAll();
      if (activity == Activity::Finished || activity == Activity::Starting)
        continue;
      std::string seconds = std::to_string(int64_t(patience * tickSeconds + 0.5)) + " s";
      if (seen[r].silent >= patience)
        endRun("rank " + std::to_string(r) + " stands still (" + whereFor(r) +
               "): no sign of its process for " + seconds +
               "; was it stopped? TESSERA_STALL_TIMEOUT sets the limit");
      if (activity == Activity::Working && seen[r].quiet >= patience)
        endRun("rank " + std::to_string(r) + " stalls (" + whereFor(r) + "): no progress for " + seconds +
               "; TESSERA_STALL_TIMEOUT sets the limit");
    }
    if (allStuck) {
      std::string who;
      int64_t first = -1;
      for (int64_t r = 0; r < board.ranks() && first < 0; ++r)
        if (board.entry(r).activityInAll() == Activity::Waiting)
          first = r;
      endRun("rank " + std::to_string(first) + " waits in vain (" +
             names.name(board.entry(first).whereInAll()) +
             "): no rank makes progress; the program's collectives do not match");
    }
  }
};

Watch::Watch(Board &board, std::vector<int64_t> local, const CollectiveNames &names, double stallSeconds)
    : state_(new State(board, std::move(local), names, stallSeconds)) {}

void Watch::setTickHook(void (*hook)(void *), void *context) {
  state_->hook = hook;
  state_->hookContext = context;
}

void Watch::start() {
  state_->thread = std::thread([this] { state_->loop(); });
}

void Watch::tick() { state_->tick(); }

int64_t Watch::patience() const { return state_->patience; }

Watch::~Watch() {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_all();
  if (state_->thread.joinable())
    state_->thread.join();
}

} // namespace tessera::runtime
