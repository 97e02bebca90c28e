// Finding tokens that are written out in a text.
#ifndef TESSERA_RUNTIME_TEXT_ADDEDTOKENS_H
#define TESSERA_RUNTIME_TEXT_ADDEDTOKENS_H

#include "UnicodeForms.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::text {

struct AddedToken {
  std::string content; // not empty
  int32_t id = -1;
  bool singleWord = false; // not where letters, digits or '_' touch it
  bool lstrip = false;     // takes the white space before it
  bool rstrip = false;     // takes the white space behind it
  bool special = false;    // controls; not printed
  bool normalized = false; // looked for in the normalized text
};

class AddedTokens {
public:
  void add(AddedToken token) { tokens_.push_back(std::move(token)); }
  void finish(); // after all add; the last of equal contents counts
  bool empty() const { return tokens_.empty(); }
  const std::vector<AddedToken> &tokens() const { return tokens_; }

  struct Match {
    size_t begin, end; // with the white space it takes
    int32_t id;
  };
  // All tokens of `text` from left to right: of those that begin at one place the longest. Cost: at most the
  // length of the longest token per byte (times the logarithm of how many there are).
  std::vector<Match> findAll(std::string_view text) const;

private:
  const AddedToken *longestAt(std::string_view text, size_t begin) const;
  std::vector<AddedToken> tokens_; // sorted by content
  bool starts_[256] = {};
};

} // namespace tessera::text
#endif
