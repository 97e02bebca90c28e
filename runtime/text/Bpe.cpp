#include "Bpe.h"

#include <algorithm>

namespace tessera::text {

namespace {
struct Symbol {
  int32_t id; // -1: merged into its left neighbour
  int32_t previous, next;
};
struct Candidate {
  int32_t rank, position, merged;
  // std heaps keep the largest first: the lowest rank, then the leftmost.
  bool operator<(const Candidate &other) const {
    return rank != other.rank ? rank > other.rank : position > other.position;
  }
};
} // namespace

bool Bpe::encode(std::string_view piece, std::vector<int32_t> &ids, uint8_t *badByte,
                 int64_t *candidates) const {
  if (!wholes_.empty())
    if (auto whole = wholes_.find(std::string(piece)); whole != wholes_.end()) {
      ids.push_back(whole->second);
      return true;
    }

  // A doubly linked list of symbols, and a heap of the pairs that a rule merges; stale candidates are skipped
  // when popped.
  thread_local std::vector<Symbol> symbols;
  thread_local std::vector<Candidate> heap;
  symbols.clear();
  heap.clear();
  for (char c : piece) {
    int32_t id = byteIds_[static_cast<uint8_t>(c)];
    if (id < 0) {
      if (unknownId_ < 0) {
        *badByte = static_cast<uint8_t>(c);
        return false;
      }
      if (fuseUnknown_ && !symbols.empty() && symbols.back().id == unknownId_)
        continue;
      id = unknownId_;
    }
    int32_t at = int32_t(symbols.size());
    symbols.push_back({id, at - 1, at + 1});
  }
  if (symbols.empty())
    return true;
  symbols.back().next = -1;

  auto findMerge = [&](int32_t position) -> const Merge * {
    const Symbol &left = symbols[size_t(position)];
    auto found =
        left.next < 0 ? merges_.end() : merges_.find(pairKey(left.id, symbols[size_t(left.next)].id));
    return found == merges_.end() ? nullptr : &found->second;
  };
  auto push = [&](int32_t position) {
    if (const Merge *merge = findMerge(position)) {
      heap.push_back({merge->rank, position, merge->merged});
      std::push_heap(heap.begin(), heap.end());
    }
  };
  for (int32_t i = 0; i + 1 < int32_t(symbols.size()); ++i)
    push(i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    Candidate best = heap.back();
    heap.pop_back();
    if (candidates)
      ++*candidates;
    Symbol &left = symbols[size_t(best.position)];
    if (left.id < 0)
      continue;
    const Merge *merge = findMerge(best.position);
    if (!merge || merge->rank != best.rank)
      continue;
    Symbol &right = symbols[size_t(left.next)];
    left.id = best.merged;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0)
      symbols[size_t(left.next)].previous = best.position;
    push(best.position);
    if (left.previous >= 0)
      push(left.previous);
  }
  for (int32_t i = 0; i >= 0; i = symbols[size_t(i)].next)
    ids.push_back(symbols[size_t(i)].id);
  return true;
}

} // namespace tessera::text
