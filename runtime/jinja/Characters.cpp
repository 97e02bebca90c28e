#include "tessera/runtime/jinja/Characters.h"

#include "UnicodeTables.h"

#include <algorithm>

namespace tessera::jinja {

bool isValidUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    auto byte = [&](size_t k) { return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u; };
    auto isTail = [&](size_t k) { return (byte(k) & 0xC0) == 0x80; };
    unsigned lead = byte(0);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    if (lead >= 0xC2 && lead < 0xE0 && isTail(1)) {
      i += 2;
      continue;
    }
    if (lead >= 0xE0 && lead < 0xF0 && isTail(1) && isTail(2) && (lead != 0xE0 || byte(1) >= 0xA0) &&
        (lead != 0xED || byte(1) < 0xA0)) {
      i += 3;
      continue;
    }
    if (lead >= 0xF0 && lead < 0xF5 && isTail(1) && isTail(2) && isTail(3) &&
        (lead != 0xF0 || byte(1) >= 0x90) && (lead != 0xF4 || byte(1) < 0x90)) {
      i += 4;
      continue;
    }
    return false;
  }
  return true;
}

void appendCharacter(char32_t c, std::string &out) {
  if (c < 0x80) {
    out += char(c);
  } else if (c < 0x800) {
    out += {char(0xC0 | (c >> 6)), char(0x80 | (c & 0x3F))};
  } else if (c < 0x10000) {
    out += {char(0xE0 | (c >> 12)), char(0x80 | ((c >> 6) & 0x3F)), char(0x80 | (c & 0x3F))};
  } else {
    out += {char(0xF0 | (c >> 18)), char(0x80 | ((c >> 12) & 0x3F)), char(0x80 | ((c >> 6) & 0x3F)),
            char(0x80 | (c & 0x3F))};
  }
}

char32_t nextCharacter(std::string_view text, size_t &at) {
  auto byte = [&](size_t k) { return char32_t(static_cast<unsigned char>(text[at + k])); };
  size_t length = characterLength(text[at]);
  char32_t c = byte(0);
  if (length == 2)
    c = (c & 0x1F) << 6 | (byte(1) & 0x3F);
  else if (length == 3)
    c = (c & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  else if (length == 4)
    c = (c & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  at += length;
  return c;
}

int64_t countCharacters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

std::vector<size_t> characterStarts(std::string_view text) {
  std::vector<size_t> starts;
  for (size_t at = 0; at < text.size(); at += characterLength(text[at]))
    starts.push_back(at);
  starts.push_back(text.size());
  return starts;
}

size_t characterOffset(std::string_view text, int64_t index) {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index)
    at += characterLength(text[at]);
  return at;
}

bool isSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool isLineBreak(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool isPrintable(char32_t c) {
  if (c < 0x80)
    return c >= 0x20 && c != 0x7F;
  const CharacterRange *end = unprintable + unprintableCount;
  const CharacterRange *range =
      std::partition_point(unprintable, end, [&](const CharacterRange &r) { return r.last < c; });
  return range == end || c < range->first;
}

static char32_t mapped(const CaseRange *ranges, size_t count, char32_t c) {
  const CaseRange *end = ranges + count;
  // Runs of every second character may lie inside each other: those that begin at most a few before it.
  const CaseRange *range =
      std::partition_point(ranges, end, [&](const CaseRange &r) { return r.first <= c; });
  for (int back = 0; back < 4 && range != ranges; ++back) {
    --range;
    if (c <= range->last && (c - range->first) % range->step == 0)
      return char32_t(int64_t(c) + range->delta);
  }
  return c;
}

void appendUpper(char32_t c, std::string &out) {
  if (c < 0x80) {
    out += char(c >= 'a' && c <= 'z' ? c - 32 : c);
    return;
  }
  const LongUpper *end = longUppers + longUpperCount;
  const LongUpper *found =
      std::partition_point(longUppers, end, [&](const LongUpper &l) { return l.character < c; });
  if (found == end || found->character != c)
    return appendCharacter(mapped(upperRanges, upperRangeCount, c), out);
  for (char32_t part : found->upper)
    if (part)
      appendCharacter(part, out);
}

void appendLower(char32_t c, std::string &out) {
  if (c < 0x80)
    out += char(c >= 'A' && c <= 'Z' ? c + 32 : c);
  else if (c == 0x130)
    out += "i\xCC\x87";
  else
    appendCharacter(mapped(lowerRanges, lowerRangeCount, c), out);
}

bool isCased(char32_t c) {
  if (c < 0x80)
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  std::string self, upper, lower;
  appendCharacter(c, self);
  appendUpper(c, upper);
  appendLower(c, lower);
  return self != upper || self != lower;
}

std::string upperText(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();)
    appendUpper(nextCharacter(text, at), out);
  return out;
}

// A sigma at the end of a word has a form of its own.
static void appendLowerInWord(std::string_view text, size_t begin, size_t end, bool afterCased,
                              std::string &out) {
  size_t at = begin;
  char32_t c = nextCharacter(text, at);
  bool beforeCased = end < text.size() && isCased(nextCharacter(text, end));
  if (c == 0x3A3 && afterCased && !beforeCased)
    appendCharacter(0x3C2, out);
  else
    appendLower(c, out);
}

std::string lowerText(std::string_view text) {
  std::string out;
  bool afterCased = false;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    char32_t c = nextCharacter(text, at);
    appendLowerInWord(text, begin, at, afterCased, out);
    afterCased = isCased(c);
  }
  return out;
}

std::string capitalized(std::string_view text) {
  std::string out;
  size_t at = 0;
  if (!text.empty())
    appendUpper(nextCharacter(text, at), out);
  return out + lowerText(text.substr(at));
}

std::string titled(std::string_view text) {
  std::string out;
  bool inWord = false;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    char32_t c = nextCharacter(text, at);
    if (inWord)
      appendLowerInWord(text, begin, at, true, out);
    else
      appendUpper(c, out);
    inWord = isCased(c);
  }
  return out;
}

std::string_view strip(std::string_view text, const std::string_view *set, bool left, bool right) {
  auto goes = [&](size_t at) {
    if (set)
      return set->find(text.substr(at, characterLength(text[at]))) != std::string_view::npos;
    return isSpace(nextCharacter(text, at));
  };
  size_t begin = 0, end = text.size();
  while (left && begin < end && goes(begin))
    begin += characterLength(text[begin]);
  while (right && begin < end) {
    size_t last = end - 1;
    while ((text[last] & 0xC0) == 0x80)
      --last;
    if (!goes(last))
      break;
    end = last;
  }
  return text.substr(begin, end - begin);
}

} // namespace tessera::jinja
