// tokenizer.json, parsed: the large tables in compact form, the rest as JSON values.
#ifndef TESSERA_RUNTIME_TEXT_TOKENIZERTEXT_H
#define TESSERA_RUNTIME_TEXT_TOKENIZERTEXT_H

#include "tessera/runtime/io/Json.h"

#include <deque>

namespace tessera::text {

// Texts of a JSON file: views of it, or of `unescaped` where it does not hold them as they are.
struct JsonStrings {
  std::vector<std::string_view> texts;
  std::deque<std::string> unescaped;
};

struct TokenizerText {
  nlohmann::json
      rest; // everything; "vocab" and "merges" of "model" are there, and empty if they were taken out
  JsonStrings tokens;         // of model.vocab, in the order of the file
  std::vector<int32_t> ids;   // of tokens, where model.vocab is an object
  std::vector<double> scores; // of tokens, where it is a list (Unigram)
  JsonStrings merges;         // two for each rule, left and right
};

// Limits as io::parseJson. The result holds views of `json`.
Result<TokenizerText> parseTokenizerText(std::string_view json, const std::string &where);

} // namespace tessera::text
#endif
