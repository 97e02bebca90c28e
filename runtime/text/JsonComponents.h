// The reader of tokenizer.json: every component is either implemented or refused by name, because a component
// left out would change the ids without a word.
#ifndef TESSERA_RUNTIME_TEXT_JSONCOMPONENTS_H
#define TESSERA_RUNTIME_TEXT_JSONCOMPONENTS_H

#include "Bpe.h"
#include "TokenizerImpl.h"
#include "TokenizerText.h"

namespace tessera::text {

class JsonReader {
public:
  JsonReader(const TokenizerText &text, const std::string &where)
      : text_(text), root_(text.rest), builder_(where) {}
  Result<std::unique_ptr<Tokenizer>> read();

private:
  using json = nlohmann::json;
  // The member `name` of an object; null if it is missing or null.
  static const json *member(const json &object, const char *name);
  // A flag that must be true or false where it is present.
  bool flag(const json &object, const char *name, bool byDefault);
  static std::string text(const json &object, const char *name); // "" where it is none
  static bool isCharacter(std::string_view text);                // one, of valid UTF-8
  Status checked() { return problem_ ? Status(*problem_) : Status(); }
  Failure unsupported(const std::string &kind, const std::string &type) {
    return builder_.unsupported(kind + (type.empty() ? " without a type" : " " + type));
  }
  Failure damaged(const std::string &part) {
    return builder_.failure(part + " is missing or damaged", "is the file whole?");
  }
  // {"String": "..."} or {"Regex": "..."}, as a regular expression.
  Result<std::string> pattern(const json &component, const std::string &of);
  // Calls visit(part) for `component`, or for those in its list `name` if it is a Sequence, at any depth.
  Status eachPart(const json &component, const char *kind, const char *name,
                  const std::function<Status(const json &)> &visit);

  // TokenizerJson.cpp
  Status readModel();
  Status readBpe(const json &model);
  Status readUnigram(const json &model);
  Status readAddedTokens();
  Status readPostProcessor();
  Status addPostProcessor(const json &component);
  // JsonComponents.cpp
  Status readNormalizer();
  Status addNormalizer(const json &component);
  Status readPreTokenizer();
  Status addPreTokenizer(const json &component);
  Status addSplit(const json &component);
  Status addMetaspace(const json &component);
  // JsonDecoder.cpp
  Status readDecoder();

  const TokenizerText &text_;
  const json &root_;
  TokenizerBuilder builder_;
  std::optional<Failure> problem_;
  static constexpr int kMostParts = 256;      // of all components; models have some twenty
  static constexpr size_t kMostAround = 1024; // tokens that one post_processor adds; models have two
  int parts_ = 0;
};

} // namespace tessera::text
#endif
