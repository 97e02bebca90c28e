#include "tessera/runtime/comm/MpiWorld.h"
#include "../DelayedTransport.h"
#include "../MachineBoard.h"
#include "../MessageCommunicator.h"
#include "MpiTransport.h"
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

// What one machine's first rank tells the others about one of its ranks.
struct Heartbeat {
  int64_t rank;
  uint64_t progress, beat;
  int32_t activity, where;
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
    board_ = std::make_unique<MachineBoard>(*plane_);
    if (board_->firsts().size() > 1 && provided < mpiThreadMultiple)
      throw Error(
          "cannot start", "MPI",
          "this Open MPI was built without support for threads, which watching over several machines needs",
          "run all ranks on one machine");
    BoardEntry &entry = board().entry(rank_);
    plane_->setEntry(entry);
    comm_ =
        std::make_unique<MessageCommunicator>(delayedTransport(createMpiTransport(mpi_)), rank, ranks, entry);
    startHeartbeat();
  }

  int64_t rank() const override { return rank_; }
  Board &board() override { return board_->board(); }
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
          BoardEntry &entry = board().entry(heartbeat.rank);
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
        for (int64_t r : board_->machine()) {
          BoardEntry &entry = board().entry(r);
          link.out.push_back(
              {r, entry.progressInAll(), entry.beat, int32_t(entry.activityInAll()), entry.whereInAll()});
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

  bool isFirst() const { return board_->machine()[0] == rank_; }

  void checkTags() {
    int *largest = nullptr, found = 0;
    mpi_.expect(mpi_.Comm_get_attr(mpi_.world, mpiTagUpperBound, &largest, &found), "MPI_Comm_get_attr");
    if (found && *largest < mpiLargestTag)
      throw Error("cannot start", "MPI",
                  "its messages can tell " + std::to_string(*largest) + " tags apart, " +
                      std::to_string(mpiLargestTag) + " are needed",
                  "choose another transport of Open MPI (--mca pml ob1)");
  }

  void startHeartbeat() {
    if (!isFirst())
      return;
    const std::vector<int64_t> &firsts = board_->firsts(), &machine = board_->machine();
    for (size_t i = 0; i < firsts.size(); ++i) {
      if (firsts[i] == rank_)
        continue;
      Link link;
      link.peer = firsts[i];
      link.in.resize(board_->sizes()[i]);
      link.outgoing = mpi_.requestNull; // which tests as done
      links_.push_back(std::move(link));
    }
    for (Link &link : links_)
      post(link);
    // Ranks of other machines have started too, whether or not they live to say so.
    for (int64_t r = 0; r < board().ranks(); ++r)
      if (!std::count(machine.begin(), machine.end(), r))
        board().entry(r).activity = int32_t(Activity::Working);
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
  std::unique_ptr<MachineBoard> board_;
  std::vector<Link> links_;
};

} // namespace

std::unique_ptr<MpiWorld> MpiWorld::start(int64_t ranks, bool oneMachine) {
  return std::make_unique<World>(ranks, oneMachine);
}

} // namespace tessera::runtime
