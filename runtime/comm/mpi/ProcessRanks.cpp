// This process is one rank among those of MPI.
#include "tessera/runtime/comm/MpiWorld.h"
#include "tessera/runtime/comm/World.h"

#include <optional>

namespace tessera::runtime {

namespace {
class ProcessRanks final : public World {
public:
  bool ranksAreProcesses() const override { return true; }
  void run(const WorldOptions &options, const RankBody &body) const override {
    auto world = MpiWorld::start(options.mesh.size(), options.oneMachine);
    Board &board = world->board();
    BoardEntry &entry = board.entry(world->rank());
    options.onBoard(board); // MPI puts handlers of its own in place of ours, which print stack traces
    installTerminationHandler(board, options.names, world->rank());
    std::optional<Watch> watch(std::in_place, board, std::vector<int64_t>{world->rank()}, options.names,
                               options.stallSeconds);
    watch->setTickHook([](void *world) { static_cast<MpiWorld *>(world)->tick(); }, world.get());
    watch->start();
    body(world->communicator(), world->plane(), entry);
    // Nobody leaves before all have come here: from now on an end is a good one.
    world->plane().barrier();
    entry.activity = int32_t(Activity::Finished);
    watch.reset(); // its ticks may call MPI
    world->finish();
  }
};
} // namespace

const World &mpiWorld() {
  static const ProcessRanks world;
  return world;
}

} // namespace tessera::runtime
