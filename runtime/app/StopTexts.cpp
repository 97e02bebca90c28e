#include "StopTexts.h"

#include <algorithm>
#include <utility>

namespace tessera::runtime {

std::string StopTexts::push(std::string_view text) {
  if (isMet_)
    return {};
  held_ += text;
  // The one that is whole first: letter by letter no other would have come. Of those the longest.
  size_t begin = 0, end = std::string::npos;
  for (const std::string &stop : texts_)
    if (const size_t at = held_.find(stop); at != std::string::npos)
      if (const size_t behind = at + stop.size(); behind < end || (behind == end && at < begin))
        begin = at, end = behind;
  if (end != std::string::npos) {
    isMet_ = true;
    held_.resize(begin);
    return std::exchange(held_, {});
  }
  // The longest end of the text that one of them begins with.
  size_t kept = 0;
  for (const std::string &stop : texts_)
    for (size_t length = std::min(stop.size() - 1, held_.size()); length > kept; --length)
      if (held_.compare(held_.size() - length, length, stop, 0, length) == 0)
        kept = length;
  std::string certain = held_.substr(0, held_.size() - kept);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopTexts::flush() { return std::exchange(held_, {}); }

} // namespace tessera::runtime
