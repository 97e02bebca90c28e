// This process is one rank among those of MPI.
#include "../ProcessRank.h"
#include "tessera/runtime/comm/MpiWorld.h"

namespace tessera::runtime {

namespace {
class ProcessRanks final : public World {
public:
  const char *name() const override { return "mpi"; }
  bool connects(const std::string &fabric, RanksFrom from) const override {
    return fabric == "host" && from == RanksFrom::Mpi;
  }
  void run(const WorldOptions &options, const RankBody &body) const override {
    auto world = MpiWorld::start(options.mesh.size(), options.oneMachine);
    runProcessRank(
        options, world->board(), world->plane(), world->communicator(), [&] { world->tick(); }, body);
    world->finish();
  }
};
} // namespace

const World &mpiWorld() {
  static const ProcessRanks world;
  return world;
}

} // namespace tessera::runtime
