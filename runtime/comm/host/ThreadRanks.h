// Ranks that are threads of this process, whatever they communicate over.
#ifndef TESSERA_RUNTIME_COMM_HOST_THREADRANKS_H
#define TESSERA_RUNTIME_COMM_HOST_THREADRANKS_H

#include "tessera/runtime/comm/World.h"

#include <functional>
#include <memory>

namespace tessera::runtime {

using MakeCommunicator = std::function<std::unique_ptr<Communicator>(const std::shared_ptr<HostWorld> &world,
                                                                     int64_t rank, BoardEntry &entry)>;

// World::run. Each rank's thread makes its communicator; host data goes through memory. `tick`: called at
// every tick of the watch, before it looks.
void runThreadRanks(const WorldOptions &options, const RankBody &body,
                    const MakeCommunicator &makeCommunicator, const std::function<void()> &tick = nullptr);

} // namespace tessera::runtime
#endif
