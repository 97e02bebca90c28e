// All ranks are threads of this process.
#include "tessera/runtime/comm/World.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Wait.h"

#include <numeric>
#include <system_error>
#include <thread>

namespace tessera::runtime {

namespace {
class ThreadRanks final : public World {
public:
  bool ranksAreProcesses() const override { return false; }
  void run(const WorldOptions &options, const RankBody &body) const override {
    int64_t ranks = options.mesh.size();
    Board board(ranks);
    auto world = createHostWorld(ranks, board);
    std::vector<int64_t> all(ranks);
    std::iota(all.begin(), all.end(), 0);
    Watch watch(board, all, options.names, options.stallSeconds);
    options.onBoard(board);
    if (ranks > 1)
      watch.start();
    auto one = [&](int64_t r) {
      auto comm = createHostCommunicator(world, r);
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
};
} // namespace

const World &hostWorld() {
  static const ThreadRanks world;
  return world;
}

} // namespace tessera::runtime
