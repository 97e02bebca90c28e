// Split patterns of tokenizers, matched with PCRE2.
#ifndef TESSERA_RUNTIME_TEXT_REGEX_H
#define TESSERA_RUNTIME_TEXT_REGEX_H

#include "tessera/runtime/Result.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tessera::text {

// Immutable; many threads may match with one Regex.
class Regex {
public:
  // Patterns are written for Oniguruma (what Hugging Face's tokenizers use): \s is Unicode's White_Space, \w
  // letters, marks, numbers and connectors, ^ and $ match at lines. Fails, naming the pattern, on what PCRE2
  // would read differently.
  static Result<std::unique_ptr<Regex>> compile(const std::string &pattern, const std::string &where);
  // Matches what a reader takes for one character (extended grapheme clusters, UAX 29).
  static Result<std::unique_ptr<Regex>> graphemes();
  static std::string quoted(std::string_view literal); // a pattern that matches `literal`
  ~Regex();

  // Calls match(begin, end) for each non-empty match from left to right. `text` must be valid UTF-8. Fails
  // when a match needs more backtracking than 10 million steps or 256 MiB (a pattern that explodes).
  Status forEachMatch(std::string_view text, const std::function<void(size_t, size_t)> &match) const;

private:
  static Result<std::unique_ptr<Regex>>
  compileTranslated(const std::string &rewritten, const std::string &pattern, const std::string &where);
  Regex() = default;
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tessera::text
#endif
