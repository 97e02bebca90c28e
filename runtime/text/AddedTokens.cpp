#include "AddedTokens.h"

namespace tessera::text {

void AddedTokens::add(std::string_view content, int32_t id) {
  starts_[static_cast<uint8_t>(content.front())] = true;
  size_t node = 0;
  for (char c : content) {
    auto [at, isNew] = nodes_[node].next.emplace(static_cast<uint8_t>(c), nodes_.size());
    node = at->second;
    if (isNew)
      nodes_.emplace_back();
  }
  nodes_[node].id = id;
}

AddedTokens::Match AddedTokens::find(std::string_view text, size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!starts_[static_cast<uint8_t>(text[begin])])
      continue;
    Match best{begin, 0, -1};
    size_t node = 0;
    for (size_t at = begin; at < text.size(); ++at) {
      auto next = nodes_[node].next.find(static_cast<uint8_t>(text[at]));
      if (next == nodes_[node].next.end())
        break;
      node = next->second;
      if (nodes_[node].id >= 0)
        best = {begin, at + 1, nodes_[node].id};
    }
    if (best.end > 0)
      return best;
  }
  return {text.size(), 0, -1};
}

} // namespace tessera::text
