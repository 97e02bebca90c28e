// The ways of having ranks: how those of a run come about, and what they talk over. docs/Drivers.md, "How to
// add a communicator".
#ifndef TESSERA_RUNTIME_COMM_WORLD_H
#define TESSERA_RUNTIME_COMM_WORLD_H

#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/comm/HostPlane.h"
#include "tessera/runtime/core/Mesh.h"

#include <functional>

namespace tessera::runtime {

struct WorldOptions {
  const Mesh &mesh;
  const CollectiveNames &names;
  double stallSeconds;
  bool oneMachine; // the launcher says that all ranks run here
  // Called with the board before any rank works, and after what may put signal handlers of its own in place.
  std::function<void(Board &)> onBoard;
};

using RankBody = std::function<void(Communicator &, HostPlane &, BoardEntry &)>;

class World {
public:
  virtual ~World() = default;
  // Whether each rank is a process of its own, which a launcher started; else all are of this process.
  virtual bool ranksAreProcesses() const = 0;
  // Runs `body` on every rank that lives in this process, watched (Board.h); returns when those of all
  // processes are done. Errors end the process.
  virtual void run(const WorldOptions &options, const RankBody &body) const = 0;
};

// The first of the list (TESSERA_COMMUNICATORS in runtime/comm/CMakeLists.txt) that has such ranks.
const World &worldFor(bool ranksAreProcesses);

} // namespace tessera::runtime
#endif
