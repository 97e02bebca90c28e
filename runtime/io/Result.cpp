#include "tessera/runtime/Result.h"

#include <cstdio>

namespace tessera {

// Length of the valid UTF-8 character at text[i], 0 if there is none. Accepts what a terminal can be trusted
// with.
static size_t printableLength(const std::string &text, size_t i) {
  auto byte = [&](size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
  auto isTail = [&](size_t k) { return (byte(k) & 0xC0) == 0x80; };
  unsigned lead = byte(i);
  if (lead >= 0x20 && lead < 0x7F)
    return 1;
  if (lead >= 0xC3 && lead < 0xE0) // leaves out C2 80..9F, control characters
    return isTail(i + 1) ? 2 : 0;
  if (lead >= 0xE0 && lead < 0xF0) {
    if (!isTail(i + 1) || !isTail(i + 2) || (lead == 0xE0 && byte(i + 1) < 0xA0) ||
        (lead == 0xED && byte(i + 1) > 0x9F))
      return 0;
    bool lineSeparator =
        lead == 0xE2 && byte(i + 1) == 0x80 && (byte(i + 2) & 0xFE) == 0xA8; // U+2028, U+2029
    return lineSeparator ? 0 : 3;
  }
  if (lead >= 0xF0 && lead < 0xF5 && isTail(i + 1) && isTail(i + 2) && isTail(i + 3))
    return (lead == 0xF0 && byte(i + 1) < 0x90) || (lead == 0xF4 && byte(i + 1) > 0x8F) ? 0 : 4;
  return 0;
}

static std::string sanitized(const std::string &text) {
  constexpr size_t limit = 400; // a name from a damaged file can be megabytes long
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (out.size() > limit) {
      out += "...";
      break;
    }
    if (size_t length = printableLength(text, i)) {
      out.append(text, i, length);
      i += length;
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02X", static_cast<unsigned char>(text[i++]));
    out += escaped;
  }
  return out;
}

std::string Failure::message() const {
  std::string line = sanitized(what);
  if (!where.empty())
    line += " (" + sanitized(where) + ")";
  line += ": " + sanitized(why);
  if (!hint.empty())
    line += "; " + sanitized(hint);
  return line;
}

} // namespace tessera
