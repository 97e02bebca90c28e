#include "Charsmap.h"

#include "Unicode.h"

#include <algorithm>
#include <cstring>

namespace tessera::text {

static constexpr size_t longestRule = 256; // of what it replaces, in bytes; those of models have 20

std::optional<Charsmap> Charsmap::read(std::string_view blob) {
  uint32_t bytes = 0; // of the double array; the file is little-endian, as all machines we know
  if (blob.size() < sizeof bytes)
    return std::nullopt;
  std::memcpy(&bytes, blob.data(), sizeof bytes);
  if (bytes % 4 != 0 || bytes == 0 || bytes > blob.size() - 4)
    return std::nullopt;
  Charsmap map;
  map.units_.resize(bytes / 4);
  std::memcpy(map.units_.data(), blob.data() + 4, bytes);
  map.texts_ = blob.substr(4 + bytes);
  if (map.texts_.empty() || map.texts_.back() != '\0' || !isValidUtf8(map.texts_))
    return std::nullopt;
  return map;
}

// Calls visit(rule) for each rule that `text` begins with, the shortest first, until it returns false. Walks
// no further than `text` and the longest rule, whatever the array holds: a damaged one can lead in circles.
template <typename Visit> void Charsmap::forEachPrefix(std::string_view text, Visit visit) const {
  // A unit: its label in the low byte (or a value, with the highest bit), bit 8 says that a value hangs below
  // it, and how far its children are.
  auto offset = [](uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); };
  size_t node = offset(units_[0]);
  for (size_t i = 0; i < std::min(text.size(), longestRule); ++i) {
    uint8_t byte = static_cast<uint8_t>(text[i]);
    node ^= byte;
    if (byte == 0 || node >= units_.size())
      return;
    uint32_t unit = units_[node];
    if ((unit & 0x800000FF) != byte)
      return;
    node ^= offset(unit);
    if (!(unit & 0x100))
      continue;
    if (node >= units_.size())
      return;
    size_t begin = units_[node] & 0x7FFFFFFF;
    // A text that began within a character would not be UTF-8, as the steps behind this one take for granted.
    if (begin >= texts_.size() || (static_cast<uint8_t>(texts_[begin]) & 0xC0) == 0x80)
      return;
    if (!visit(Rule{i + 1, std::string_view(texts_.data() + begin)}))
      return;
  }
}

std::optional<Charsmap::Rule> Charsmap::longest(std::string_view text) const {
  std::optional<Rule> found;
  forEachPrefix(text, [&](const Rule &rule) { return found = rule, true; });
  return found;
}

std::optional<Charsmap::Rule> Charsmap::shortest(std::string_view text) const {
  std::optional<Rule> found;
  forEachPrefix(text, [&](const Rule &rule) { return found = rule, false; });
  return found;
}

Result<std::string> Charsmap::replaceGraphemes(std::string_view text, const Regex &graphemes,
                                               size_t most) const {
  std::string out;
  Status status = graphemes.forEachMatch(text, [&](size_t begin, size_t end) {
    if (out.size() > most)
      return;
    std::string_view grapheme = text.substr(begin, end - begin);
    if (grapheme.size() < 6)
      if (std::optional<Rule> rule = shortest(grapheme)) {
        out += rule->replacement;
        return;
      }
    for (size_t at = 0; at < grapheme.size() && out.size() <= most;) { // marks without end are one grapheme
      std::string_view character = grapheme.substr(at, scanUtf8(grapheme.substr(at)).length);
      std::optional<Rule> rule = shortest(character);
      out += rule ? rule->replacement : character;
      at += character.size();
    }
  });
  if (!status)
    return status.takeFailure();
  return out;
}

} // namespace tessera::text
