// A rank that is this process, whatever it communicates over.
#ifndef TESSERA_RUNTIME_COMM_PROCESSRANK_H
#define TESSERA_RUNTIME_COMM_PROCESSRANK_H

#include "tessera/runtime/comm/World.h"

#include <functional>

namespace tessera::runtime {

// World::run, where `board` holds the ranks of this machine and `plane` reaches all. `tick`: called at every
// tick of the watch, before it looks. On return all ranks are done and nobody watches.
void runProcessRank(const WorldOptions &options, Board &board, HostPlane &plane, Communicator &comm,
                    const std::function<void()> &tick, const RankBody &body);

} // namespace tessera::runtime
#endif
