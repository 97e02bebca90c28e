// Text to token ids and back: BPE, SentencePiece's BPE and Unigram, from Hugging Face's tokenizer.json,
// SentencePiece's tokenizer.model or GGUF metadata.
#ifndef TESSERA_RUNTIME_TEXT_TOKENIZER_H
#define TESSERA_RUNTIME_TEXT_TOKENIZER_H

#include "tessera/runtime/Result.h"
#include "tessera/runtime/io/ModelFile.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::text {

// What to try where a model's tokenizer is missing or cannot be used; who has no such flag says something
// else.
inline constexpr const char *giveTokens = "give prompts as token ids with --tokens";

// Immutable; may be used by many threads.
class Tokenizer {
public:
  // The tokenizer a model carries: tokenizer.json of a Hugging Face directory, or else tokenizer.model,
  // tokenizer.ggml.* of a GGUF file. Fails, naming it, on any component that would change the ids and is not
  // implemented (WordPiece, an unknown normalizer, split name, ...).
  static Result<std::unique_ptr<Tokenizer>> load(const io::ModelFile &model);
  static Result<std::unique_ptr<Tokenizer>> fromJson(std::string_view tokenizerJson,
                                                     const std::string &where);
  // SentencePiece's file. `settings`: tokenizer_config.json, or empty; it says what is put around texts.
  static Result<std::unique_ptr<Tokenizer>>
  fromSentencePiece(std::string_view model, std::string_view settings, const std::string &where);
  static Result<std::unique_ptr<Tokenizer>> fromGguf(const io::ModelFile &model);
  ~Tokenizer();

  // The ids of `text`. Special tokens written out in the text are parsed; what the tokenizer itself adds (a
  // BOS) is added, unless `addsAround` is off. Fails on invalid UTF-8 and on text that the vocabulary cannot
  // express. Cost: O(n log n) in the bytes of `text`.
  Result<std::vector<int32_t>> encode(std::string_view text, bool addsAround = true) const;

  // The bytes of one token: any byte string, not always whole characters. Ids without a string give "".
  // Special tokens give their text.
  std::string_view bytes(int32_t id) const;
  bool isSpecial(int32_t id) const; // control tokens: not printed as text
  // All bytes of `ids`, special tokens left out, incomplete characters replaced by U+FFFD. Blanks that the
  // tokenizer puts before a text are left out at its begin.
  std::string decode(const std::vector<int32_t> &ids) const;
  int32_t vocabSize() const; // highest id that has a string, plus one

private:
  Tokenizer();
  friend class TokenizerBuilder;
  friend class StreamDecoder;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Ids at which generation ends: generation_config.json or else config.json `eos_token_id` (a number or a
// list), or tokenizer.ggml.eos_token_id, eot_token_id and eom_token_id. Empty if none is named. Those that
// the model, whose vocabulary has `vocab` ids, does not have are left out: they never come.
Result<std::vector<int32_t>> endTokens(const io::ModelFile &model, int64_t vocab = INT64_MAX);

// Decodes a stream of ids into whole UTF-8 characters: bytes of a character spread over several tokens are
// held back until it is complete. Bytes that cannot become a character come out as U+FFFD.
class StreamDecoder {
public:
  explicit StreamDecoder(const Tokenizer &tokenizer) : tokenizer_(tokenizer) {}
  std::string push(int32_t id); // the text that is now certain
  std::string flush();          // what is left at the end: an incomplete character is U+FFFD

private:
  const Tokenizer &tokenizer_;
  std::string held_;      // the begin of a character
  bool hasToken_ = false; // one that is printed has come
  bool began_ = false;    // a character has been printed, or waits
  size_t leftOut_ = 0;    // at the begin of the text
  size_t waiting_ = 0;    // characters that are left out if the text ends with them
};

} // namespace tessera::text
#endif
