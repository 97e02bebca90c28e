// What a Tokenizer is made of, and what both readers (tokenizer.json, GGUF) fill.
#ifndef TESSERA_RUNTIME_TEXT_TOKENIZERIMPL_H
#define TESSERA_RUNTIME_TEXT_TOKENIZERIMPL_H

#include "AddedTokens.h"
#include "Bpe.h"
#include "PreTokenizer.h"
#include "tessera/runtime/text/Tokenizer.h"

namespace tessera::text {

struct Tokenizer::Impl {
  std::string where;
  Bpe bpe;
  PreTokenizer preTokenizer;
  // Looked for in this order: first those that see the text as it is, then those that see the normalized
  // text.
  AddedTokens added[2];
  std::vector<std::string> bytes;      // by id; "" where the id has no string
  std::vector<bool> special;           // by id
  std::vector<int32_t> prefix, suffix; // put around every text
};

// Fills a Tokenizer. Calls in this order: expectTokens, addToken for the whole vocabulary, addMerge for each
// rule from the first, addAdded.
class TokenizerBuilder {
public:
  explicit TokenizerBuilder(std::string where);
  Tokenizer::Impl &impl() { return *tokenizer_->impl_; }
  Failure failure(const std::string &why, const std::string &hint = {}) const;

  // Bounds the ids: a few gaps are fine, but a single absurd id must not allocate gigabytes.
  void expectTokens(size_t count) { idLimit_ = 4 * int64_t(count) + 65536; }
  // `text` in the byte alphabet. Ids may come in any order.
  Status addToken(std::string_view text, int64_t id);
  // Both parts and their concatenation must be in the vocabulary.
  Status addMerge(std::string_view left, std::string_view right);
  // A token found by its literal text. special: control tokens, not printed.
  Status addAdded(const std::string &content, int64_t id, bool special, bool normalized);
  Status addSplit(const std::string &pattern, SplitBehavior behavior = SplitBehavior::Isolated,
                  bool invert = false);
  Status ignoreMerges(); // after all addToken
  // The id of a text of the vocabulary, or -1.
  int32_t idOf(std::string_view text) const;
  bool hasId(int64_t id) const;
  std::unique_ptr<Tokenizer> finish();

private:
  Status reserveId(int64_t id);
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unordered_map<std::string, int32_t> ids_;
  int32_t nextRank_ = 0;
  int64_t idLimit_ = 65536;
  std::string scratch_;
};

} // namespace tessera::text
#endif
