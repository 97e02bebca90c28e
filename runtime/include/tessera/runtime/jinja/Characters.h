// Python's view of UTF-8 text: characters, whitespace, cases.
#ifndef TESSERA_RUNTIME_JINJA_CHARACTERS_H
#define TESSERA_RUNTIME_JINJA_CHARACTERS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::jinja {

bool isValidUtf8(std::string_view text);
void appendCharacter(char32_t character, std::string &out);
// The character at `at` of valid UTF-8; `at` moves behind it.
char32_t nextCharacter(std::string_view text, size_t &at);
// Bytes of the character that begins with `lead`.
inline size_t characterLength(char lead) {
  auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}
int64_t countCharacters(std::string_view text);
// Where each character begins, and the end. O(bytes).
std::vector<size_t> characterStarts(std::string_view text);
// Where character `index` begins; the end of `text` if it has no more. O(bytes).
size_t characterOffset(std::string_view text, int64_t index);

bool isSpace(char32_t character);     // str.isspace
bool isLineBreak(char32_t character); // where str.splitlines cuts
bool isPrintable(char32_t character); // str.isprintable
bool isCased(char32_t character);
void appendUpper(char32_t character, std::string &out);
void appendLower(char32_t character, std::string &out);
std::string upperText(std::string_view text);
std::string lowerText(std::string_view text);
std::string capitalized(std::string_view text);
std::string titled(std::string_view text); // str.title: every run of cased characters begins with a capital

// `text` without characters of `set` (whitespace if null) at its left and right.
std::string_view strip(std::string_view text, const std::string_view *set, bool left, bool right);

} // namespace tessera::jinja
#endif
