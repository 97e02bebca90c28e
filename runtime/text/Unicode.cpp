#include "Unicode.h"
#include "tessera/runtime/jinja/Characters.h"

#include <array>

namespace tessera::text {

Utf8Scan scanUtf8(std::string_view bytes) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  uint8_t lead = byte(0);
  if (lead < 0x80)
    return {Utf8Scan::Valid, 1, lead};
  size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                  : lead >= 0xE0 && lead < 0xF0 ? 3
                  : lead >= 0xF0 && lead < 0xF5 ? 4
                                                : 0;
  if (length == 0)
    return {Utf8Scan::Invalid, 1, 0};
  uint32_t codepoint = lead & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if (i == bytes.size())
      return {Utf8Scan::Incomplete, i, 0};
    // The second byte also excludes overlong forms, surrogates and what lies beyond U+10FFFF.
    uint8_t low = i == 1 && lead == 0xE0 ? 0xA0 : i == 1 && lead == 0xF0 ? 0x90 : 0x80;
    uint8_t high = i == 1 && lead == 0xED ? 0x9F : i == 1 && lead == 0xF4 ? 0x8F : 0xBF;
    if (byte(i) < low || byte(i) > high)
      return {Utf8Scan::Invalid, i, 0};
    codepoint = codepoint << 6 | (byte(i) & 0x3F);
  }
  return {Utf8Scan::Valid, length, codepoint};
}

// As templates have it.
bool isValidUtf8(std::string_view text) { return jinja::isValidUtf8(text); }
void appendUtf8(uint32_t codepoint, std::string &out) { jinja::appendCharacter(codepoint, out); }

static bool standsForItself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

static const std::array<uint16_t, 256> &alphabet() {
  static const std::array<uint16_t, 256> table = [] {
    std::array<uint16_t, 256> characters{};
    uint16_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte)
      characters[byte] = standsForItself(byte) ? uint16_t(byte) : next++;
    return characters;
  }();
  return table;
}

uint32_t alphabetCharacter(uint8_t byte) { return alphabet()[byte]; }

bool bytesFromAlphabet(std::string_view text, std::string &bytes) {
  static const std::array<int16_t, 0x144> inverse = [] {
    std::array<int16_t, 0x144> table;
    table.fill(-1);
    for (uint32_t byte = 0; byte < 256; ++byte)
      table[alphabet()[byte]] = int16_t(byte);
    return table;
  }();
  bytes.clear();
  while (!text.empty()) {
    Utf8Scan scan = scanUtf8(text);
    if (scan.kind != Utf8Scan::Valid || scan.codepoint >= inverse.size() || inverse[scan.codepoint] < 0)
      return false;
    bytes += char(inverse[scan.codepoint]);
    text.remove_prefix(scan.length);
  }
  return true;
}

std::optional<uint8_t> byteOfToken(std::string_view token) {
  if (token.size() != 6 || token.substr(0, 3) != "<0x" || token[5] != '>')
    return std::nullopt;
  int value = 0;
  for (char c : token.substr(3, 2)) {
    bool digit = c >= '0' && c <= '9', letter = c >= 'A' && c <= 'F';
    if (!digit && !letter)
      return std::nullopt;
    value = value * 16 + (digit ? c - '0' : c - 'A' + 10);
  }
  return uint8_t(value);
}

} // namespace tessera::text
