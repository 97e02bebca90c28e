// Ranks on GPUs: threads of this process with a GPU each, or processes that mpirun, srun or torchrun started.
#include "../MachineBoard.h"
#include "../ProcessRank.h"
#include "../host/ThreadRanks.h"
#include "NcclCommunicator.h"
#include "TcpHeartbeats.h"
#include "TcpPlane.h"
#include "tessera/runtime/comm/MpiWorld.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace tessera::runtime {

namespace {

// The communicators of this process, for its watch and for the end of a run. Owns none.
class Communicators {
public:
  Communicators() {
    current = this;
    before_ = setEndHook(end);
  }
  ~Communicators() {
    setEndHook(before_);
    current = nullptr;
  }
  Communicators(const Communicators &) = delete;

  void add(NcclCommunicator *comm) {
    std::lock_guard<std::mutex> lock(mutex_);
    all_.push_back(comm);
  }
  void remove(NcclCommunicator *comm) {
    std::lock_guard<std::mutex> lock(mutex_);
    all_.erase(std::find(all_.begin(), all_.end(), comm));
  }
  void show() {
    std::lock_guard<std::mutex> lock(mutex_);
    try {
      for (NcclCommunicator *comm : all_)
        comm->show();
    } catch (const Error &error) {
      endRun(error);
    }
  }

private:
  // A kernel that waits for a rank that is gone would keep its process from ending. NCCL may hang in there
  // itself: nobody waits for it long.
  static void end() {
    static std::atomic<bool> done{false};
    if (Communicators *here = current) {
      std::thread([here] {
        for (NcclCommunicator *comm : here->all_)
          comm->abort();
        done = true;
      }).detach();
      for (int turn = 0; turn < 100 && !done; ++turn)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (here->before_)
        here->before_();
    }
  }

  static std::atomic<Communicators *> current;
  EndHook before_ = nullptr;
  std::mutex mutex_;
  std::vector<NcclCommunicator *> all_;
};
std::atomic<Communicators *> Communicators::current{nullptr};

// Known to the watch as long as it lives.
class WatchedCommunicator final : public NcclCommunicator {
public:
  WatchedCommunicator(Communicators &all, int64_t rank, int64_t ranks, BoardEntry &entry)
      : NcclCommunicator(rank, ranks, entry), all_(all) {
    all_.add(this);
  }
  ~WatchedCommunicator() override { all_.remove(this); }

private:
  Communicators &all_;
};

class GpuRanks final : public World {
public:
  const char *name() const override { return "nccl"; }
  bool connects(const std::string &fabric, RanksFrom) const override { return fabric == "nccl"; }
  StagingBytes stagingBytes() const override { return packedBytes; }

  void run(const WorldOptions &options, const RankBody &body) const override {
    int64_t ranks = options.mesh.size();
    if (ranks > 1)
      NcclLibrary::get(); // what is missing is said once, before anybody waits
    Communicators all;
    if (options.from == RanksFrom::Threads)
      return runThreadRanks(
          options, body,
          [&](const std::shared_ptr<HostWorld> &, int64_t rank, BoardEntry &entry) {
            return std::make_unique<WatchedCommunicator>(all, rank, ranks, entry);
          },
          [&] { all.show(); });
    if (options.from == RanksFrom::Mpi) {
      auto world = MpiWorld::start(ranks, options.oneMachine);
      {
        WatchedCommunicator comm(all, world->rank(), ranks, world->board().entry(world->rank()));
        auto tick = [&] {
          world->tick();
          all.show();
        };
        runProcessRank(options, world->board(), world->plane(), comm, tick, body);
      }
      return world->finish();
    }
    TcpPlane plane(options.meeting, options.rank, ranks);
    MachineBoard board(plane);
    BoardEntry &entry = board.board().entry(options.rank);
    plane.setEntry(entry);
    TcpHeartbeats heartbeats(plane, board);
    WatchedCommunicator comm(all, options.rank, ranks, entry);
    auto tick = [&] {
      heartbeats.tick();
      all.show();
    };
    runProcessRank(options, board.board(), plane, comm, tick, body);
  }
};

} // namespace

const World &ncclWorld() {
  static const GpuRanks world;
  return world;
}

} // namespace tessera::runtime
