// What a Tokenizer is made of, and what all readers (tokenizer.json, tokenizer.model, GGUF) fill.
#ifndef TESSERA_RUNTIME_TEXT_TOKENIZERIMPL_H
#define TESSERA_RUNTIME_TEXT_TOKENIZERIMPL_H

#include "AddedTokens.h"
#include "Bpe.h"
#include "Normalizer.h"
#include "PieceEncoder.h"
#include "PreTokenizer.h"
#include "TokenTable.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <array>
#include <unordered_map>

namespace tessera::text {

// What is left out at the ends of a text that is put together from tokens.
struct TextEnds {
  std::string character;         // of UTF-8; empty: nothing is left out
  size_t atBegin = 0, atEnd = 0; // how many of it at most
  std::string allOfFirst;        // every one of it in the first token is left out
};

struct Tokenizer::Impl {
  std::string where;
  TokenTable vocabulary; // by text, or by bytes for byte-level models
  std::unique_ptr<PieceEncoder> model;
  Normalizer normalizer;
  PreTokenizer preTokenizer;
  // Looked for in this order: first those that see the text as it is, then those that see the normalized
  // text.
  AddedTokens added[2];
  TextsById printed;                   // "" where the id has no string
  std::vector<bool> special;           // by id
  std::vector<int32_t> prefix, suffix; // put around every text
  TextEnds ends;
};

// Those of models have at most some hundred bytes.
constexpr size_t kLongestToken = 4096;

// Fills a Tokenizer. Calls in this order: expectTokens; addToken for the whole vocabulary; one of use...;
// addAdded; finish.
class TokenizerBuilder {
public:
  explicit TokenizerBuilder(std::string where);
  Tokenizer::Impl &impl() { return *tokenizer_->impl_; }
  Failure failure(const std::string &why, const std::string &hint = {}) const;
  // What a file asks for and is not implemented.
  Failure unsupported(const std::string &component) const;

  // Bounds the ids: a few gaps are fine, but a single absurd id must not allocate gigabytes.
  void expectTokens(size_t count);
  // Byte-level vocabularies spell bytes in an alphabet of their own (Unicode.h).
  void setByteLevel() { byteLevel_ = true; }
  bool isByteLevel() const { return byteLevel_; }
  // Ids may come in any order. inTable: it is found by its text. Tokens of more than kLongestToken bytes are
  // refused: how long a text takes goes with the longest.
  Status addToken(std::string_view text, int64_t id, bool inTable = true);
  // Both parts and their concatenation must be in the vocabulary.
  Status addMerge(Bpe &bpe, std::string_view left, std::string_view right, int32_t rank);
  Status addAdded(AddedToken token);
  Status addSplit(const std::string &pattern, SplitBehavior behavior = SplitBehavior::Isolated,
                  bool invert = false);
  // The id of a text of the vocabulary, or -1.
  int32_t idOf(std::string_view text) const;
  bool hasId(int64_t id) const;
  // The tokens <0x00> to <0xFF>: all, or none (false). A vocabulary with some of them is refused.
  Result<bool> byteTokens(std::array<int32_t, 256> &ids) const;

  Result<std::unique_ptr<Tokenizer>> finish();

private:
  Failure tooLong(int64_t id) const;
  Status reserveId(int64_t id);
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unordered_map<std::string, int32_t> odd_; // byte-level vocabularies: texts outside of the alphabet
  std::vector<AddedToken> added_;
  std::vector<bool> taken_; // by id
  bool byteLevel_ = false;
  int64_t idLimit_ = 65536;
  std::string scratch_, scratch2_;
};

} // namespace tessera::text
#endif
