#include "ThreadRanks.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Wait.h"

#include <numeric>
#include <system_error>
#include <thread>

namespace tessera::runtime {

void runThreadRanks(const WorldOptions &options, const RankBody &body,
                    const MakeCommunicator &makeCommunicator, const std::function<void()> &tick) {
  int64_t ranks = options.mesh.size();
  Board board(ranks);
  auto world = createHostWorld(ranks, board);
  std::vector<int64_t> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  Watch watch(board, all, options.names, options.stallSeconds);
  BoardScope known(options, board);
  if (tick)
    watch.setTickHook([](void *hook) { (*static_cast<const std::function<void()> *>(hook))(); },
                      const_cast<std::function<void()> *>(&tick));
  if (ranks > 1)
    watch.start();
  auto one = [&](int64_t r) {
    auto comm = makeCommunicator(world, r, board.entry(r));
    auto plane = createHostPlane(world, r);
    body(*comm, *plane, board.entry(r));
  };
  // Nobody begins before all are there: what those that run take is not missed by those to come.
  WaitWord allStarted;
  std::vector<std::thread> others;
  others.reserve(size_t(ranks - 1));
  try {
    for (int64_t r = 1; r < ranks; ++r)
      others.emplace_back([&one, &allStarted, r] {
        allStarted.waitWhile(0);
        one(r);
      });
  } catch (const std::exception &e) {
    auto *system = dynamic_cast<const std::system_error *>(&e);
    // Those that run wait for ranks that never come.
    endRun(Error("cannot start the ranks", options.mesh.describe(),
                 std::to_string(others.size() + 1) + " of " + std::to_string(ranks) +
                     " could be started: " + (system ? system->code().message() : "no memory is left"),
                 "allow more memory and threads, or start them on several machines with mpirun"));
  }
  allStarted.store(1);
  one(0);
  for (std::thread &thread : others)
    thread.join();
}

namespace {
class ThreadRanks final : public World {
public:
  const char *name() const override { return "host"; }
  bool connects(const std::string &fabric, RanksFrom from) const override {
    return fabric == "host" && from == RanksFrom::Threads;
  }
  void run(const WorldOptions &options, const RankBody &body) const override {
    runThreadRanks(options, body, [](const std::shared_ptr<HostWorld> &world, int64_t rank, BoardEntry &) {
      return createHostCommunicator(world, rank);
    });
  }
};
} // namespace

const World &hostWorld() {
  static const ThreadRanks world;
  return world;
}

} // namespace tessera::runtime
