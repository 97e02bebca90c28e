// Tokenizers that SentencePiece has trained, from its own file or from GGUF.
#ifndef TESSERA_RUNTIME_TEXT_SENTENCEPIECE_H
#define TESSERA_RUNTIME_TEXT_SENTENCEPIECE_H

#include "TokenizerImpl.h"

namespace tessera::text {

// Kinds of pieces, numbered as in sentencepiece_model.proto and in GGUF.
enum class PieceType { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

struct SentencePieceModel {
  bool isUnigram = false;               // else BPE
  std::vector<std::string_view> pieces; // by id
  std::vector<float> scores;
  std::vector<PieceType> types;
  std::string_view charsmap;    // precompiled; may be empty
  bool addPrefix = true;        // a blank in front of a text
  bool onlyFirstPrefix = false; // not behind tokens that are written out in it
  bool removeExtraSpaces = true;
  // Added tokens take the white space behind them, but for <unk>, <s> and <|endoftext|>.
  bool addedTakeSpace = false;
  int64_t unknownId = -1;
};

// Reads sentencepiece_model.proto's ModelProto: views of `bytes`. Also the ids of BOS and EOS, or -1.
Result<SentencePieceModel> parseSentencePiece(std::string_view bytes, const std::string &where,
                                              int64_t &bosId, int64_t &eosId);

inline constexpr const char *sentencePieceBlank = "\xE2\x96\x81"; // U+2581, how pieces spell ' '

// What a piece prints: blanks are spelled as such; `isByte`: the byte that its text names.
void setPrintedPiece(TokenizerBuilder &builder, int32_t id, std::string_view piece, bool isByte);

// The vocabulary, the model and what is done to texts before.
Status addSentencePiece(TokenizerBuilder &builder, const SentencePieceModel &model);

} // namespace tessera::text
#endif
