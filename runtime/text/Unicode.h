// UTF-8, and the byte alphabet of GPT-2's byte-level BPE.
#ifndef TESSERA_RUNTIME_TEXT_UNICODE_H
#define TESSERA_RUNTIME_TEXT_UNICODE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::text {

// What stands at the beginning of `bytes`.
struct Utf8Scan {
  enum Kind { Valid, Incomplete, Invalid };
  Kind kind;
  size_t length; // Valid: of the character; Incomplete: all bytes given, which may begin a character;
                 // Invalid: of the longest ill-formed prefix that U+FFFD stands for (Unicode 3.9, "maximal
                 // subpart")
  uint32_t codepoint; // Valid only
};
Utf8Scan scanUtf8(std::string_view bytes); // `bytes` not empty
bool isValidUtf8(std::string_view text);
void appendUtf8(uint32_t codepoint, std::string &out);

inline constexpr const char *replacementCharacter = "\xEF\xBF\xBD"; // U+FFFD

// Byte-level vocabularies write each byte as one printable character: bytes 21..7E, A1..AC, AE..FF stand for
// themselves (as Latin-1), the other 68 for U+0100, U+0101, ... in order. False if `text` holds another
// character; `bytes` is then unspecified.
bool bytesFromAlphabet(std::string_view text, std::string &bytes);
uint32_t alphabetCharacter(uint8_t byte);

// The byte that "<0x0A>" stands for, as SentencePiece and Hugging Face spell tokens of one byte.
std::optional<uint8_t> byteOfToken(std::string_view token);

} // namespace tessera::text
#endif
