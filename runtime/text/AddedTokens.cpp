#include "AddedTokens.h"

#include "Unicode.h"

#include <algorithm>
#include <numeric>

namespace tessera::text {

void AddedTokens::finish() {
  std::vector<size_t> order(tokens_.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    int compared = tokens_[a].content.compare(tokens_[b].content);
    return compared != 0 ? compared < 0 : a < b;
  });
  std::vector<AddedToken> kept;
  for (size_t i : order) {
    AddedToken &token = tokens_[i];
    starts_[static_cast<uint8_t>(token.content.front())] = true;
    if (!kept.empty() && kept.back().content == token.content)
      kept.back() = std::move(token);
    else
      kept.push_back(std::move(token));
  }
  tokens_ = std::move(kept);
}

// Narrows the sorted tokens down, byte by byte.
const AddedToken *AddedTokens::longestAt(std::string_view text, size_t begin) const {
  const AddedToken *longest = nullptr;
  auto first = tokens_.begin(), last = tokens_.end(); // those that agree with the text so far
  for (size_t length = 0; begin + length < text.size(); ++length) {
    const uint8_t byte = static_cast<uint8_t>(text[begin + length]);
    auto byteOf = [&](const AddedToken &token) { return static_cast<uint8_t>(token.content[length]); };
    first = std::partition_point(first, last, [&](const AddedToken &token) { return byteOf(token) < byte; });
    last = std::partition_point(first, last, [&](const AddedToken &token) { return byteOf(token) == byte; });
    if (first == last)
      break;
    if (first->content.size() == length + 1) {
      longest = &*first;
      if (++first == last)
        break;
    }
  }
  return longest;
}

static uint32_t characterBefore(std::string_view text, size_t &end) { // `end` > 0; moves it to its begin
  do
    --end;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80);
  return scanUtf8(text.substr(end)).codepoint;
}

std::vector<AddedTokens::Match> AddedTokens::findAll(std::string_view text) const {
  std::vector<Match> found;
  size_t taken = 0; // by the tokens so far, with their white space
  for (size_t at = 0; at < text.size();) {
    const AddedToken *token = starts_[static_cast<uint8_t>(text[at])] ? longestAt(text, at) : nullptr;
    if (!token) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + token->content.size();
    at = end;
    if (token->singleWord) {
      size_t before = begin;
      if ((begin > 0 && isWord(characterBefore(text, before))) ||
          (end < text.size() && isWord(scanUtf8(text.substr(end)).codepoint)))
        continue;
    }
    if (token->lstrip)
      for (size_t before = begin; before > taken && isSpace(characterBefore(text, before));)
        begin = before;
    if (token->rstrip)
      while (end < text.size()) {
        Utf8Scan scan = scanUtf8(text.substr(end));
        if (!isSpace(scan.codepoint))
          break;
        end += scan.length;
      }
    found.push_back({begin, end, token->id});
    taken = end;
  }
  return found;
}

} // namespace tessera::text
