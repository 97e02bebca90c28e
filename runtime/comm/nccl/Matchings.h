// In which order the communicators of channels are split off: each split takes every rank at most once.
#ifndef TESSERA_RUNTIME_COMM_NCCL_MATCHINGS_H
#define TESSERA_RUNTIME_COMM_NCCL_MATCHINGS_H

#include "tessera/runtime/comm/Communicator.h"

#include <vector>

namespace tessera::runtime {

// `channels` in parts, in each of which no rank stands twice: the same on all ranks that have the same list.
// At most twice the most channels of a rank, less one.
std::vector<std::vector<Channel>> matchings(const std::vector<Channel> &channels);

} // namespace tessera::runtime
#endif
