#include "ProcessRank.h"
#include "tessera/runtime/comm/MpiWorld.h"

#include <optional>

namespace tessera::runtime {

void runProcessRank(const WorldOptions &options, Board &board, HostPlane &plane, Communicator &comm,
                    const std::function<void()> &tick, const RankBody &body) {
  BoardEntry &entry = board.entry(plane.rank());
  BoardScope known(options, board); // MPI puts handlers of its own in place of ours, which print stack traces
  TerminationHandler termination(board, options.names, plane.rank());
  std::optional<Watch> watch(std::in_place, board, std::vector<int64_t>{plane.rank()}, options.names,
                             options.stallSeconds);
  watch->setTickHook([](void *hook) { (*static_cast<const std::function<void()> *>(hook))(); },
                     const_cast<std::function<void()> *>(&tick));
  watch->start();
  body(comm, plane, entry);
  // Nobody leaves before all have come here: from now on an end is a good one.
  plane.barrier();
  entry.activity = int32_t(Activity::Finished);
  watch.reset(); // its ticks may call MPI
}

} // namespace tessera::runtime
