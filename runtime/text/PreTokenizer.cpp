#include "PreTokenizer.h"

namespace tessera::text {

void PreTokenizer::addSplit(std::unique_ptr<Regex> pattern, SplitBehavior behavior, bool invert) {
  steps_.emplace_back();
  steps_.back().pattern = std::move(pattern);
  steps_.back().behavior = behavior;
  steps_.back().invert = invert;
}

void PreTokenizer::addPrefixSpace() { steps_.emplace_back(); }

void PreTokenizer::addMetaspace(std::string blank, PrependScheme scheme, bool split) {
  steps_.emplace_back();
  steps_.back().blank = std::move(blank);
  steps_.back().scheme = scheme;
  steps_.back().cuts = split;
}

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

void PreTokenizer::metaspacePiece(const Step &step, std::string_view piece, bool isFirst,
                                  std::vector<std::string_view> &out, std::deque<std::string> &owned) {
  if (piece.empty())
    return;
  std::string text;
  text.reserve(piece.size() + piece.size() / 2);
  const std::string_view blank = step.blank;
  bool begins = piece.front() == ' ' || piece.substr(0, blank.size()) == blank;
  if (!begins && (step.scheme == PrependScheme::Always || (step.scheme == PrependScheme::First && isFirst)))
    text += blank;
  for (char c : piece)
    if (c == ' ')
      text += blank;
    else
      text += c;
  owned.push_back(std::move(text));
  std::string_view rest = owned.back();
  while (step.cuts) {
    size_t next = rest.find(blank, 1);
    if (next == std::string_view::npos)
      break;
    out.push_back(rest.substr(0, next));
    rest.remove_prefix(next);
  }
  out.push_back(rest);
}

Status PreTokenizer::split(std::string_view text, bool atStart, std::vector<std::string_view> &pieces,
                           std::deque<std::string> &owned) const {
  pieces.assign(1, text);
  std::vector<std::string_view> next;
  for (const Step &step : steps_) {
    next.clear();
    // Whether the first piece still begins where the text does.
    const char *front = pieces.empty() ? nullptr : pieces.front().data();
    for (std::string_view piece : pieces) {
      if (step.pattern) {
        if (Status status = splitPiece(step, piece, next); !status)
          return status;
      } else if (!step.blank.empty()) {
        metaspacePiece(step, piece, atStart && piece.data() == front, next, owned);
      } else if (!piece.empty() && piece.front() != ' ') {
        owned.push_back(" " + std::string(piece));
        next.push_back(owned.back());
      } else {
        next.push_back(piece);
      }
    }
    atStart = atStart && !next.empty() && (!step.pattern || next.front().data() == front);
    pieces.swap(next);
  }
  return {};
}

} // namespace tessera::text
