#include "ScoredBpe.h"

#include "Unicode.h"

#include <algorithm>
#include <unordered_map>

namespace tessera::text {

class ScoredBpe::Run {
public:
  Run(const ScoredBpe &model, std::string_view piece) : model_(model), piece_(piece) {}

  bool encode(std::vector<int32_t> &ids, std::string_view *missing) {
    for (size_t at = 0; at < piece_.size();) {
      size_t length = scanUtf8(piece_.substr(at)).length;
      int32_t index = int32_t(symbols_.size());
      symbols_.push_back({at, length, index - 1, index + 1});
      at += length;
    }
    if (symbols_.empty())
      return true;
    symbols_.back().next = -1;
    for (int32_t i = 0; i + 1 < int32_t(symbols_.size()); ++i)
      if (Candidate candidate; find(i, candidate))
        heap_.push_back(candidate);
    std::make_heap(heap_.begin(), heap_.end());
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      Candidate best = heap_.back();
      heap_.pop_back();
      apply(best);
    }
    bool afterUnknown = false;
    for (int32_t i = 0; i >= 0; i = symbols_[size_t(i)].next)
      if (!emit(textOf(symbols_[size_t(i)]), ids, missing, afterUnknown))
        return false;
    return true;
  }

private:
  struct Symbol {
    size_t begin, length; // of piece_; no length: merged into its left neighbour
    int32_t previous, next;
  };
  struct Candidate {
    float score = 0;
    int32_t position = 0, id = 0;
    size_t length = 0; // of both together
    bool operator<(const Candidate &other) const {
      return score != other.score ? score < other.score : position > other.position;
    }
  };
  std::string_view textOf(const Symbol &symbol) const { return piece_.substr(symbol.begin, symbol.length); }

  bool find(int32_t position, Candidate &candidate) const {
    const Symbol &left = symbols_[size_t(position)];
    if (left.next < 0)
      return false;
    size_t length = left.length + symbols_[size_t(left.next)].length;
    if (length > model_.vocabulary_.longest())
      return false;
    int32_t id = model_.vocabulary_.find(piece_.substr(left.begin, length));
    if (id < 0)
      return false;
    candidate = {model_.scores_[size_t(id)], position, id, length};
    return true;
  }
  void push(int32_t position) {
    if (Candidate candidate; find(position, candidate)) {
      heap_.push_back(candidate);
      std::push_heap(heap_.begin(), heap_.end());
    }
  }
  void apply(const Candidate &best) {
    Symbol &left = symbols_[size_t(best.position)];
    if (left.length == 0 || left.next < 0)
      return;
    Symbol &right = symbols_[size_t(left.next)];
    if (left.length + right.length != best.length) // one of them has grown since
      return;
    if (model_.unused_[size_t(best.id)])
      parts_[piece_.substr(left.begin, best.length)] = left.length;
    left.length = best.length;
    left.next = right.next;
    right.length = 0;
    if (left.next >= 0)
      symbols_[size_t(left.next)].previous = best.position;
    push(best.position);
    if (left.previous >= 0)
      push(left.previous);
  }

  // A symbol as ids. One that is no token for use falls apart into what it was merged from.
  bool emit(std::string_view text, std::vector<int32_t> &ids, std::string_view *missing, bool &afterUnknown) {
    int32_t id = model_.vocabulary_.find(text);
    if (id >= 0 && model_.unused_[size_t(id)]) {
      if (auto parts = parts_.find(text); parts != parts_.end()) {
        size_t cut = parts->second;
        return emit(text.substr(0, cut), ids, missing, afterUnknown) &&
               emit(text.substr(cut), ids, missing, afterUnknown);
      }
      id = -1; // a character
    }
    if (id >= 0) {
      ids.push_back(id);
    } else if (model_.hasFallback_) {
      for (char byte : text)
        ids.push_back(model_.fallback_[static_cast<uint8_t>(byte)]);
    } else if (model_.unknownId_ < 0) {
      *missing = text;
      return false;
    } else {
      if (!afterUnknown)
        ids.push_back(model_.unknownId_);
      afterUnknown = true;
      return true;
    }
    afterUnknown = false;
    return true;
  }

  const ScoredBpe &model_;
  std::string_view piece_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
  std::unordered_map<std::string_view, size_t>
      parts_; // of tokens that are not for use: where they were joined
};

bool ScoredBpe::encode(std::string_view piece, std::vector<int32_t> &ids, std::string_view *missing) const {
  return Run(*this, piece).encode(ids, missing);
}

} // namespace tessera::text
