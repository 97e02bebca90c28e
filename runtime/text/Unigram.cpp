#include "Unigram.h"

#include "Unicode.h"

#include <algorithm>

namespace tessera::text {

static size_t hashEdge(uint32_t node, uint8_t byte) {
  uint64_t hash = (uint64_t(node) << 8 | byte) * 0x9E3779B97F4A7C15u;
  return size_t(hash ^ hash >> 32);
}

uint32_t Unigram::follow(uint32_t node, uint8_t byte) const {
  for (size_t at = hashEdge(node, byte) & (edges_.size() - 1); edges_[at].from;
       at = (at + 1) & (edges_.size() - 1))
    if (edges_[at].from == node + 1 && edges_[at].byte == byte)
      return edges_[at].to;
  return 0;
}

void Unigram::grow() {
  std::vector<Edge> old(edges_.size() * 2);
  old.swap(edges_);
  for (const Edge &edge : old) {
    if (!edge.from)
      continue;
    size_t at = hashEdge(edge.from - 1, edge.byte) & (edges_.size() - 1);
    while (edges_[at].from)
      at = (at + 1) & (edges_.size() - 1);
    edges_[at] = edge;
  }
}

void Unigram::add(std::string_view text, int32_t id, double score) {
  uint32_t node = 0;
  for (char c : text) {
    uint8_t byte = static_cast<uint8_t>(c);
    uint32_t next = follow(node, byte);
    if (next == 0) {
      if (nodes_.size() * 3 > edges_.size() * 2)
        grow();
      next = uint32_t(nodes_.size());
      nodes_.emplace_back();
      size_t at = hashEdge(node, byte) & (edges_.size() - 1);
      while (edges_[at].from)
        at = (at + 1) & (edges_.size() - 1);
      edges_[at] = {node + 1, byte, next};
    }
    node = next;
  }
  nodes_[node] = {id, score};
  leastScore_ = hasScore_ ? std::min(leastScore_, score) : score;
  hasScore_ = true;
}

bool Unigram::encode(std::string_view piece, std::vector<int32_t> &ids, std::string_view *missing) const {
  struct Best {
    double sum = 0;
    int32_t begin = -1, id = -1; // of the last token
  };
  thread_local std::vector<Best> bestTo; // bestTo[i]: of the first i bytes
  bestTo.assign(piece.size() + 1, Best());
  for (size_t begin = 0; begin < piece.size();) {
    const size_t character = scanUtf8(piece.substr(begin)).length;
    const double sum = bestTo[begin].sum;
    auto offer = [&](size_t end, int32_t id, double score) {
      Best &best = bestTo[end];
      if (best.begin < 0 || sum + score > best.sum)
        best = {sum + score, int32_t(begin), id};
    };
    bool hasCharacter = false;
    uint32_t node = 0;
    for (size_t end = begin; end < piece.size();) {
      node = follow(node, static_cast<uint8_t>(piece[end++]));
      if (node == 0)
        break;
      if (nodes_[node].id < 0)
        continue;
      offer(end, nodes_[node].id, nodes_[node].score);
      hasCharacter |= end == begin + character;
    }
    if (!hasCharacter) {
      if (unknownId_ < 0) {
        *missing = piece.substr(begin, character);
        return false;
      }
      offer(begin + character, unknownId_, leastScore_ - 10);
    }
    begin += character;
  }

  const size_t first = ids.size();
  for (size_t end = piece.size(); end > 0;) {
    const Best &last = bestTo[end];
    size_t begin = size_t(last.begin);
    if (last.id == unknownId_ && hasFallback_) {
      for (size_t i = end; i > begin; --i)
        ids.push_back(fallback_[static_cast<uint8_t>(piece[i - 1])]);
    } else if (last.id != unknownId_ || ids.size() == first || ids.back() != unknownId_) {
      ids.push_back(last.id);
    }
    end = begin;
  }
  std::reverse(ids.begin() + ptrdiff_t(first), ids.end());
  return true;
}

} // namespace tessera::text
