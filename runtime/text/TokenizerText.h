// tokenizer.json, parsed: the large tables in compact form, the rest as JSON values.
#ifndef TESSERA_RUNTIME_TEXT_TOKENIZERTEXT_H
#define TESSERA_RUNTIME_TEXT_TOKENIZERTEXT_H

#include "tessera/runtime/io/Json.h"

namespace tessera::text {

// A list of strings in one block of memory: a vocabulary of 128,000 tokens as JSON values would be tens of
// megabytes, for a moment.
class PackedStrings {
public:
  void add(std::string_view text) {
    bytes_.append(text);
    ends_.push_back(bytes_.size());
  }
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const {
    size_t begin = i ? ends_[i - 1] : 0;
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }

private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

struct TokenizerText {
  nlohmann::json
      rest; // everything; "vocab" and "merges" of "model" are there, and empty where they were taken out
  PackedStrings tokens; // of model.vocab, in the order of the file
  std::vector<int32_t> ids;
  PackedStrings merges; // two for each rule, left and right
};

// Limits as io::parseJson.
Result<TokenizerText> parseTokenizerText(std::string_view json, const std::string &where);

} // namespace tessera::text
#endif
