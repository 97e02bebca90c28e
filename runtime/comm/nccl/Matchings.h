// In which order the communicators of channels are split off: each split takes every rank at most once.
#ifndef TESSERA_RUNTIME_COMM_NCCL_MATCHINGS_H
#define TESSERA_RUNTIME_COMM_NCCL_MATCHINGS_H

#include "tessera/runtime/comm/Communicator.h"

#include <map>
#include <set>

namespace tessera::runtime {

// `channels` in parts, in each of which no rank stands twice: the same on all ranks that have the same list.
// At most twice the most channels of a rank, less one.
inline std::vector<std::vector<Channel>> matchings(const std::vector<Channel> &channels) {
  std::vector<std::vector<Channel>> parts;
  std::map<int64_t, std::set<size_t>> taken; // by rank: the parts that it is in
  for (const Channel &channel : std::set<Channel>(channels.begin(), channels.end())) {
    std::set<size_t> &from = taken[channel.from], &to = taken[channel.to];
    size_t part = 0;
    while (from.count(part) || to.count(part))
      ++part;
    from.insert(part);
    to.insert(part);
    if (part == parts.size())
      parts.emplace_back();
    parts[part].push_back(channel);
  }
  return parts;
}

} // namespace tessera::runtime
#endif
