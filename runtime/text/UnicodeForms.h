// Other spellings of the same text: Unicode's normalization forms (UAX 15), lower case, no accents.
#ifndef TESSERA_RUNTIME_TEXT_UNICODEFORMS_H
#define TESSERA_RUNTIME_TEXT_UNICODEFORMS_H

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::text {

enum class UnicodeForm { NFC, NFD, NFKC, NFKD };

// All take valid UTF-8. Cost: linear, but for the sort of marks on one character.
std::string toForm(std::string_view text, UnicodeForm form);
std::string toLower(std::string_view text); // character by character, as Rust's char::to_lowercase
std::string withoutMarks(std::string_view text);

bool isMark(uint32_t codepoint);  // of the categories Mn, Mc, Me
bool isSpace(uint32_t codepoint); // White_Space
bool isWord(uint32_t codepoint);  // letters, marks, digits, connectors: \w as Rust's regex has it

} // namespace tessera::text
#endif
