#include "Matchings.h"

#include <map>
#include <set>

namespace tessera::runtime {

std::vector<std::vector<Channel>> matchings(const std::vector<Channel> &channels) {
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
