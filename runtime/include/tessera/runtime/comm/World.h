// The ways of having ranks: how those of a run come about, and what they talk over. docs/Drivers.md, "How to
// add a communicator".
#ifndef TESSERA_RUNTIME_COMM_WORLD_H
#define TESSERA_RUNTIME_COMM_WORLD_H

#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/comm/HostPlane.h"
#include "tessera/runtime/comm/Transfers.h"
#include "tessera/runtime/core/Mesh.h"
#include "tessera/runtime/io/DType.h"

#include <functional>
#include <string>
#include <vector>

namespace tessera::runtime {

// How the ranks of a run come about.
enum class RanksFrom {
  Threads,  // all of them, or the only one, are of this process
  Mpi,      // each is a process that mpirun or srun started
  Torchrun, // ... torchrun
};

// Where processes that cannot find each other otherwise meet.
struct MeetingPlace {
  std::string host;
  int port = 0;
  std::string run; // the same for all of them, and for nobody else
};

struct WorldOptions {
  const Mesh &mesh;
  const CollectiveNames &names;
  double stallSeconds;
  bool oneMachine; // the launcher says that all ranks run here
  RanksFrom from = RanksFrom::Threads;
  int64_t rank = 0;     // of this process, if it is one
  MeetingPlace meeting; // RanksFrom::Torchrun
  // Called with the board before any rank works, and after what may put signal handlers of its own in place;
  // with null before the board goes.
  std::function<void(Board *)> onBoard;
};

// Has onBoard know of `board` for a scope.
class BoardScope {
public:
  BoardScope(const WorldOptions &options, Board &board) : options_(options) { options_.onBoard(&board); }
  ~BoardScope() { options_.onBoard(nullptr); }
  BoardScope(const BoardScope &) = delete;

private:
  const WorldOptions &options_;
};

using RankBody = std::function<void(Communicator &, HostPlane &, BoardEntry &)>;

class World {
public:
  virtual ~World() = default;
  // Of its folder in runtime/comm.
  virtual const char *name() const = 0;
  // Whether it connects ranks that come about so, on devices whose driver has this fabric (Driver::fabric).
  virtual bool connects(const std::string &fabric, RanksFrom from) const = 0;
  // Runs `body` on every rank that lives in this process, watched (Board.h); returns when those of all
  // processes are done. Errors end the process.
  virtual void run(const WorldOptions &options, const RankBody &body) const = 0;
  // How much device memory of a communicator's own such a collective passes through: of all that it is told
  // of (Communicator::announce) it holds the most, once. Null: none ever.
  using StagingBytes = int64_t (*)(const Transfers &transfers, io::DType type);
  virtual StagingBytes stagingBytes() const { return nullptr; }
};

// The list: TESSERA_COMMUNICATORS in runtime/comm/CMakeLists.txt.
const std::vector<const World *> &worlds();
// The first of the list that connects such ranks; null if none does.
const World *findWorld(const std::string &fabric, RanksFrom from);

} // namespace tessera::runtime
#endif
