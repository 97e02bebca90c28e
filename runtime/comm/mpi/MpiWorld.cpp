#include "tessera/runtime/comm/MpiWorld.h"
#include "../MessageCommunicator.h"
#include "MpiTransport.h"
#include "SharedSegment.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::runtime {

namespace {

// Processes with equal names can see each other's memory segments and process ids.
struct MachineName {
  char text[192] = {};
};

MachineName machineName() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat segments = {}, processes = {};
  stat("/dev/shm", &segments);
  stat("/proc/self/ns/pid", &processes);
  // TESSERA_MACHINE tells ranks of one machine apart, for tests of what happens between machines.
  const char *given = getenv("TESSERA_MACHINE");
  MachineName name;
  snprintf(name.text, sizeof(name.text), "%s %lx %lx %lx %s", boot.c_str(), (unsigned long)segments.st_dev,
           (unsigned long)segments.st_ino, (unsigned long)processes.st_ino, given ? given : "");
  return name;
}

// What one machine's first rank tells the others about one of its ranks.
struct Heartbeat {
  int64_t rank;
  uint64_t progress, beat;
  int32_t activity, where;
};

Board *electionBoard = nullptr;

// Of all processes on this machine one reports the end of the run, as long as their board is there.
class ReportElection {
public:
  explicit ReportElection(Board &board) {
    electionBoard = &board;
    setReportElection([] { return electionBoard->claimReport(); });
  }
  ~ReportElection() { setReportElection(nullptr); }
  ReportElection(const ReportElection &) = delete;
};

class World final : public MpiWorld {
public:
  World(int64_t ranks, bool oneMachine) : mpi_(MpiLibrary::get()) {
    int provided = 0, rank = 0, size = 0;
    mpi_.expect(
        mpi_.Init_thread(nullptr, nullptr, oneMachine ? mpiThreadSerialized : mpiThreadMultiple, &provided),
        "MPI_Init_thread");
    mpi_.expect(mpi_.Comm_set_errhandler(mpi_.world, mpi_.errorsReturn), "MPI_Comm_set_errhandler");
    mpi_.expect(mpi_.Comm_rank(mpi_.world, &rank), "MPI_Comm_rank");
    mpi_.expect(mpi_.Comm_size(mpi_.world, &size), "MPI_Comm_size");
    if (size != ranks)
      throw Error("cannot start", "MPI",
                  "the program has " + std::to_string(ranks) + " ranks, MPI started " + std::to_string(size),
                  "start it with mpirun -np " + std::to_string(ranks) + ", or alone");
    rank_ = rank;
    checkTags();
    plane_ = std::make_unique<MpiPlane>(mpi_, rank, ranks);
    shareBoard(ranks);
    if (firsts_.size() > 1 && provided < mpiThreadMultiple)
      throw Error(
          "cannot start", "MPI",
          "this Open MPI was built without support for threads, which watching over several machines needs",
          "run all ranks on one machine");
    BoardEntry &entry = board_->entry(rank_);
    entry.pid = getpid();
    entry.activity = int32_t(Activity::Working);
    plane_->setEntry(entry);
    comm_ = std::make_unique<MessageCommunicator>(createMpiTransport(mpi_), rank, ranks, entry);
    election_.emplace(*board_);
    plane_->barrier(); // every entry of this machine is filled
    segment_.reset();
    startHeartbeat();
  }

  int64_t rank() const override { return rank_; }
  Board &board() override { return *board_; }
  Communicator &communicator() override { return *comm_; }
  HostPlane &plane() override { return *plane_; }

  void tick() override {
    if (!isFirst())
      return;
    for (Link &link : links_) {
      int done = 0;
      while (link.incoming != mpi_.requestNull && mpi_.Test(&link.incoming, &done, nullptr) == 0 && done) {
        if (link.in[0].rank == lastHeartbeat)
          break; // its machine has come to the end of the run
        for (const Heartbeat &heartbeat : link.in) {
          BoardEntry &entry = board_->entry(heartbeat.rank);
          entry.progress = heartbeat.progress;
          entry.beat = heartbeat.beat;
          entry.activity = heartbeat.activity;
          entry.where = heartbeat.where;
        }
        post(link);
      }
      if (mpi_.Test(&link.outgoing, &done, nullptr) == 0 && done) {
        // The last one has left: tell the newest. A dead peer never takes it; then nothing more is sent.
        link.out.clear();
        for (int64_t r : machine_) {
          BoardEntry &entry = board_->entry(r);
          link.out.push_back({r, entry.progress, entry.beat, entry.activity, entry.where});
        }
        (void)mpi_.Isend(link.out.data(), int(link.out.size() * sizeof(Heartbeat)), mpi_.byte, int(link.peer),
                         mpiHeartbeatTag, mpi_.world, &link.outgoing);
      }
    }
  }

  void finish() override {
    comm_.reset(); // what it sent from copies is delivered
    // A last heartbeat, without ranks, ends the receiving: MPI must not be finalized with requests open.
    for (int64_t turn = 0; openRequests() > 0; ++turn) {
      for (Link &link : links_)
        end(link);
      mpiPause(turn);
    }
    (void)mpi_.Finalize();
  }

  int64_t openRequests() const override {
    int64_t open = 0;
    for (const Link &link : links_)
      open += (link.incoming != mpi_.requestNull) + (link.outgoing != mpi_.requestNull || !link.ended);
    return open;
  }

private:
  struct Link {
    int64_t peer;
    std::vector<Heartbeat> in, out;
    MpiRequest incoming = nullptr, outgoing = nullptr;
    bool ended = false; // the last heartbeat was sent
  };

  static constexpr int64_t lastHeartbeat = -1; // in place of a rank

  void end(Link &link) {
    int done = 0;
    if (link.outgoing == mpi_.requestNull || (mpi_.Test(&link.outgoing, &done, nullptr) == 0 && done)) {
      if (!link.ended) {
        link.ended = true;
        link.out.assign(1, {lastHeartbeat, 0, 0, 0, 0});
        mpi_.expect(mpi_.Isend(link.out.data(), int(sizeof(Heartbeat)), mpi_.byte, int(link.peer),
                               mpiHeartbeatTag, mpi_.world, &link.outgoing),
                    "MPI_Isend");
      }
    }
    while (link.incoming != mpi_.requestNull && mpi_.Test(&link.incoming, &done, nullptr) == 0 && done)
      if (link.in[0].rank != lastHeartbeat)
        post(link);
  }

  bool isFirst() const { return machine_[0] == rank_; }

  void checkTags() {
    int *largest = nullptr, found = 0;
    mpi_.expect(mpi_.Comm_get_attr(mpi_.world, mpiTagUpperBound, &largest, &found), "MPI_Comm_get_attr");
    if (found && *largest < mpiLargestTag)
      throw Error("cannot start", "MPI",
                  "its messages can tell " + std::to_string(*largest) + " tags apart, " +
                      std::to_string(mpiLargestTag) + " are needed",
                  "choose another transport of Open MPI (--mca pml ob1)");
  }

  void shareBoard(int64_t ranks) {
    // Who is on which machine.
    MachineName mine = machineName();
    std::vector<MachineName> names(ranks);
    plane_->gather(&mine, sizeof(mine), names.data(), 0);
    plane_->broadcast(names.data(), names.size() * sizeof(MachineName), 0);
    for (int64_t r = 0; r < ranks; ++r) {
      bool seen = false;
      for (int64_t s = 0; s < r; ++s)
        seen |= strcmp(names[s].text, names[r].text) == 0;
      if (!seen)
        firsts_.push_back(r);
      if (strcmp(names[r].text, mine.text) == 0)
        machine_.push_back(r);
    }
    sizes_.resize(firsts_.size());
    for (size_t i = 0; i < firsts_.size(); ++i)
      for (int64_t r = 0; r < ranks; ++r)
        sizes_[i] += strcmp(names[r].text, names[firsts_[i]].text) == 0;

    // The first rank of each machine makes the segment; all learn all names.
    struct SegmentName {
      char text[64] = {};
    } segment;
    size_t bytes = Board::bytesFor(ranks);
    if (isFirst()) {
      segment_.emplace(bytes);
      snprintf(segment.text, sizeof(segment.text), "%s", segment_->name().c_str());
    }
    std::vector<SegmentName> segments(ranks);
    plane_->gather(&segment, sizeof(segment), segments.data(), 0);
    plane_->broadcast(segments.data(), segments.size() * sizeof(SegmentName), 0);
    board_ = std::make_unique<Board>(ranks, SharedSegment::map(segments[machine_[0]].text, bytes));
  }

  void startHeartbeat() {
    if (!isFirst())
      return;
    for (size_t i = 0; i < firsts_.size(); ++i) {
      if (firsts_[i] == rank_)
        continue;
      Link link;
      link.peer = firsts_[i];
      link.in.resize(sizes_[i]);
      link.outgoing = mpi_.requestNull; // which tests as done
      links_.push_back(std::move(link));
    }
    for (Link &link : links_)
      post(link);
    // Ranks of other machines have started too, whether or not they live to say so.
    for (int64_t r = 0; r < board_->ranks(); ++r)
      if (!std::count(machine_.begin(), machine_.end(), r))
        board_->entry(r).activity = int32_t(Activity::Working);
  }

  void post(Link &link) {
    mpi_.expect(mpi_.Irecv(link.in.data(), int(link.in.size() * sizeof(Heartbeat)), mpi_.byte, int(link.peer),
                           mpiHeartbeatTag, mpi_.world, &link.incoming),
                "MPI_Irecv");
  }

  const MpiLibrary &mpi_;
  int64_t rank_ = 0;
  std::unique_ptr<MpiPlane> plane_;
  std::unique_ptr<Communicator> comm_;
  std::optional<SharedSegment> segment_; // of the first rank, until all have it
  std::unique_ptr<Board> board_;
  std::optional<ReportElection> election_;
  std::vector<int64_t> machine_, firsts_; // ranks of this machine; first rank of every machine
  std::vector<size_t> sizes_;             // ranks of every machine
  std::vector<Link> links_;
};

} // namespace

std::unique_ptr<MpiWorld> MpiWorld::start(int64_t ranks, bool oneMachine) {
  return std::make_unique<World>(ranks, oneMachine);
}

} // namespace tessera::runtime
