#include "Bpe.h"

#include "Unicode.h"

#include <algorithm>

namespace tessera::text {

Bpe::Bpe(const TokenTable &vocabulary, bool onCharacters)
    : vocabulary_(vocabulary), onCharacters_(onCharacters) {
  for (int byte = 0; byte < 256; ++byte) {
    char text = char(byte);
    byteIds_[size_t(byte)] = vocabulary.find(std::string_view(&text, 1));
  }
}

void Bpe::growMerges(size_t slots) {
  std::vector<Merge> old(slots, Merge{-1, -1, 0, 0});
  old.swap(merges_);
  mergeCount_ = 0;
  for (const Merge &merge : old)
    if (merge.left >= 0)
      addMerge(merge.left, merge.right, merge.rank, merge.merged);
}

void Bpe::reserveMerges(size_t count) {
  size_t slots = 16;
  while (slots < count + count / 2 + 2)
    slots *= 2;
  if (slots > merges_.size())
    growMerges(slots);
}

void Bpe::addMerge(int32_t left, int32_t right, int32_t rank, int32_t merged) {
  if (merges_.size() < mergeCount_ + mergeCount_ / 2 + 2)
    growMerges(std::max<size_t>(16, merges_.size() * 2));
  size_t at = hashPair(left, right) & (merges_.size() - 1);
  while (merges_[at].left >= 0 && (merges_[at].left != left || merges_[at].right != right))
    at = (at + 1) & (merges_.size() - 1);
  mergeCount_ += merges_[at].left < 0;
  merges_[at] = {left, right, rank, merged};
}

const Bpe::Merge *Bpe::findMerge(int32_t left, int32_t right) const {
  if (merges_.empty())
    return nullptr;
  for (size_t at = hashPair(left, right) & (merges_.size() - 1); merges_[at].left >= 0;
       at = (at + 1) & (merges_.size() - 1))
    if (merges_[at].left == left && merges_[at].right == right)
      return &merges_[at];
  return nullptr;
}

// The ids that merging begins with.
bool Bpe::addUnits(std::string_view piece, std::vector<int32_t> &units, std::string_view *missing) const {
  bool afterUnknown = false;
  for (size_t at = 0; at < piece.size();) {
    size_t length = onCharacters_ ? scanUtf8(piece.substr(at)).length : 1;
    std::string_view unit = piece.substr(at, length);
    at += length;
    int32_t id = length == 1 ? byteIds_[static_cast<uint8_t>(unit[0])] : vocabulary_.find(unit);
    if (id >= 0) {
      units.push_back(id);
    } else if (hasFallback_) {
      for (char byte : unit)
        units.push_back(fallback_[static_cast<uint8_t>(byte)]);
    } else if (unknownId_ < 0) {
      *missing = unit;
      return false;
    } else {
      if (!fuseUnknown_ || !afterUnknown)
        units.push_back(unknownId_);
      afterUnknown = true;
      continue;
    }
    afterUnknown = false;
  }
  return true;
}

// A word: the least rank is looked for again after each merge.
void Bpe::mergeFew(std::vector<int32_t> &units) const {
  static constexpr int32_t none = INT32_MAX;
  struct Pair {
    int32_t rank, merged;
  };
  thread_local std::vector<Pair> pairs; // pairs[i]: of units i and i + 1
  auto look = [&](size_t i) -> Pair {
    const Merge *merge = findMerge(units[i], units[i + 1]);
    return merge ? Pair{merge->rank, merge->merged} : Pair{none, 0};
  };
  pairs.clear();
  for (size_t i = 0; i + 1 < units.size(); ++i)
    pairs.push_back(look(i));
  while (!pairs.empty()) {
    size_t best = 0;
    for (size_t i = 1; i < pairs.size(); ++i)
      if (pairs[i].rank < pairs[best].rank)
        best = i;
    if (pairs[best].rank == none)
      break;
    units[best] = pairs[best].merged;
    units.erase(units.begin() + ptrdiff_t(best) + 1);
    pairs.erase(pairs.begin() + ptrdiff_t(best));
    if (best < pairs.size())
      pairs[best] = look(best);
    if (best > 0)
      pairs[best - 1] = look(best - 1);
  }
}

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

// A doubly linked list of symbols, and a heap of the pairs that a rule merges; stale candidates are skipped
// when popped.
void Bpe::mergeMany(const std::vector<int32_t> &units, std::vector<int32_t> &ids, int64_t *candidates) const {
  thread_local std::vector<Symbol> symbols;
  thread_local std::vector<Candidate> heap;
  symbols.clear();
  heap.clear();
  for (size_t i = 0; i < units.size(); ++i)
    symbols.push_back({units[i], int32_t(i) - 1, i + 1 < units.size() ? int32_t(i) + 1 : -1});

  auto mergeAt = [&](int32_t position) -> const Merge * {
    const Symbol &left = symbols[size_t(position)];
    return left.next < 0 ? nullptr : findMerge(left.id, symbols[size_t(left.next)].id);
  };
  for (int32_t i = 0; i + 1 < int32_t(symbols.size()); ++i)
    if (const Merge *merge = mergeAt(i))
      heap.push_back({merge->rank, i, merge->merged});
  std::make_heap(heap.begin(), heap.end());
  auto push = [&](int32_t position) {
    if (const Merge *merge = mergeAt(position)) {
      heap.push_back({merge->rank, position, merge->merged});
      std::push_heap(heap.begin(), heap.end());
    }
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    Candidate best = heap.back();
    heap.pop_back();
    if (candidates)
      ++*candidates;
    Symbol &left = symbols[size_t(best.position)];
    if (left.id < 0)
      continue;
    const Merge *merge = mergeAt(best.position);
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
}

bool Bpe::encode(std::string_view piece, std::vector<int32_t> &ids, std::string_view *missing) const {
  return encode(piece, ids, missing, nullptr);
}

bool Bpe::encode(std::string_view piece, std::vector<int32_t> &ids, std::string_view *missing,
                 int64_t *candidates) const {
  if (ignoreMerges_)
    if (int32_t whole = vocabulary_.find(piece); whole >= 0) {
      ids.push_back(whole);
      return true;
    }
  thread_local std::vector<int32_t> units;
  units.clear();
  if (!addUnits(piece, units, missing))
    return false;
  if (units.empty())
    return true;
  if (units.size() <= 32) {
    mergeFew(units);
    ids.insert(ids.end(), units.begin(), units.end());
  } else {
    mergeMany(units, ids, candidates);
  }
  return true;
}

} // namespace tessera::text
