// Text to token ids and back: byte-level BPE, from a Hugging Face tokenizer.json or from GGUF metadata.
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

// Immutable; may be used by many threads.
class Tokenizer {
public:
  // The tokenizer a model carries: tokenizer.json of a Hugging Face directory, tokenizer.ggml.* of a GGUF
  // file. Fails, naming it, on any component that would change the ids and is not implemented (another model
  // than BPE, an unknown normalizer, split name, ...).
  static Result<std::unique_ptr<Tokenizer>> load(const io::ModelFile &model);
  static Result<std::unique_ptr<Tokenizer>> fromJson(std::string_view tokenizerJson,
                                                     const std::string &where);
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
  // All bytes of `ids`, special tokens left out, incomplete characters replaced by U+FFFD.
  std::string decode(const std::vector<int32_t> &ids) const;
  int32_t vocabSize() const; // highest id that has a string, plus one

private:
  Tokenizer();
  friend class TokenizerBuilder;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Ids at which generation ends: generation_config.json or else config.json `eos_token_id` (a number or a
// list), or tokenizer.ggml.eos_token_id, eot_token_id and eom_token_id. Empty if none is named.
Result<std::vector<int32_t>> endTokens(const io::ModelFile &model);

// Decodes a stream of ids into whole UTF-8 characters: bytes of a character spread over several tokens are
// held back until it is complete. Bytes that cannot become a character come out as U+FFFD.
class StreamDecoder {
public:
  explicit StreamDecoder(const Tokenizer &tokenizer) : tokenizer_(tokenizer) {}
  std::string push(int32_t id); // the text that is now certain
  std::string flush();          // what is left at the end: an incomplete character is U+FFFD

private:
  const Tokenizer &tokenizer_;
  std::string held_;
};

} // namespace tessera::text
#endif
