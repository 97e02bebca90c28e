#include "PreTokenizer.h"

namespace tessera::text {

void PreTokenizer::addSplit(std::unique_ptr<Regex> pattern, SplitBehavior behavior, bool invert) {
  steps_.push_back({std::move(pattern), behavior, invert});
}

void PreTokenizer::addPrefixSpace() { steps_.push_back({}); }

Status PreTokenizer::splitPiece(const Step &step, std::string_view piece,
                                std::vector<std::string_view> &out) {
  // The piece as alternating stretches of separator and text, each merged into what it belongs to.
  const size_t first = out.size();
  bool lastWasSeparator = false;
  auto add = [&](size_t begin, size_t end, bool matched) {
    if (begin == end)
      return;
    bool separator = matched != step.invert;
    bool hasLast = out.size() > first;
    bool merge = false;
    switch (step.behavior) {
    case SplitBehavior::Removed:
      if (separator)
        return;
      break;
    case SplitBehavior::Isolated:
      break;
    case SplitBehavior::MergedWithPrevious:
      merge = separator && hasLast && !lastWasSeparator;
      break;
    case SplitBehavior::MergedWithNext:
      merge = !separator && hasLast && lastWasSeparator;
      break;
    case SplitBehavior::Contiguous:
      merge = hasLast && separator == lastWasSeparator;
      break;
    }
    if (merge)
      out.back() = std::string_view(out.back().data(), out.back().size() + (end - begin));
    else
      out.push_back(piece.substr(begin, end - begin));
    lastWasSeparator = separator;
  };
  size_t at = 0;
  Status status = step.pattern->forEachMatch(piece, [&](size_t begin, size_t end) {
    add(at, begin, false);
    add(begin, end, true);
    at = end;
  });
  if (!status)
    return status;
  add(at, piece.size(), false);
  return {};
}

Status PreTokenizer::split(std::string_view text, std::vector<std::string_view> &pieces,
                           std::deque<std::string> &owned) const {
  pieces.assign(1, text);
  std::vector<std::string_view> next;
  for (const Step &step : steps_) {
    next.clear();
    for (std::string_view piece : pieces) {
      if (step.pattern) {
        if (Status status = splitPiece(step, piece, next); !status)
          return status;
      } else if (!piece.empty() && piece.front() != ' ') {
        owned.push_back(" " + std::string(piece));
        next.push_back(owned.back());
      } else {
        next.push_back(piece);
      }
    }
    pieces.swap(next);
  }
  return {};
}

} // namespace tessera::text
