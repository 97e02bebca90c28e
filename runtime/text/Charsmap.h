// SentencePiece's precompiled rules of normalization: a double array (Aoe 1989) of what is replaced, and the
// texts that replace it.
#ifndef TESSERA_RUNTIME_TEXT_CHARSMAP_H
#define TESSERA_RUNTIME_TEXT_CHARSMAP_H

#include "Regex.h"

#include <optional>
#include <vector>

namespace tessera::text {

class Charsmap {
public:
  // `blob` as `precompiled_charsmap` holds it. Empty if it is damaged.
  static std::optional<Charsmap> read(std::string_view blob);

  struct Rule {
    size_t length; // of what it replaces
    std::string_view replacement;
  };
  // The longest rule that `text` begins with, as SentencePiece chooses, or the shortest.
  std::optional<Rule> longest(std::string_view text) const;
  std::optional<Rule> shortest(std::string_view text) const;

  // `text` as Hugging Face's `Precompiled` makes it: grapheme by grapheme, where one of less than 6 bytes
  // that begins with a rule is replaced as a whole, and others character by character. Stops when the result
  // is longer than `most` bytes.
  Result<std::string> replaceGraphemes(std::string_view text, const Regex &graphemes, size_t most) const;

private:
  template <typename Visit> void forEachPrefix(std::string_view text, Visit visit) const;
  std::vector<uint32_t> units_;
  std::string texts_; // each ends at a NUL
};

} // namespace tessera::text
#endif
