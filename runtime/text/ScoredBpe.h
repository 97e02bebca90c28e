// Byte-pair encoding by scores, as SentencePiece's BPE models do it (Kudo and Richardson 2018): there is no
// list of rules; any two neighbours merge whose texts together are a token.
#ifndef TESSERA_RUNTIME_TEXT_SCOREDBPE_H
#define TESSERA_RUNTIME_TEXT_SCOREDBPE_H

#include "PieceEncoder.h"
#include "TokenTable.h"

#include <array>

namespace tessera::text {

class ScoredBpe : public PieceEncoder {
public:
  // By id: what a token's score is, and whether merges may pass through it but not end in it (`unused`).
  // `vocabulary` holds what merges may make; it outlives this.
  ScoredBpe(const TokenTable &vocabulary, std::vector<float> scores, std::vector<bool> unused)
      : vocabulary_(vocabulary), scores_(std::move(scores)), unused_(std::move(unused)) {}
  void setUnknown(int32_t id) { unknownId_ = id; } // for characters without a token; several in a row are one
  // A character without a token is the tokens of its bytes. All 256 must be there.
  void setByteFallback(const std::array<int32_t, 256> &ids) { fallback_ = ids, hasFallback_ = true; }

  // Of all neighbours that merge, the token of the highest score is made first, leftmost of equal ones, until
  // none is left. Cost: O(n log n) in the bytes of the piece (times the length of a token).
  bool encode(std::string_view piece, std::vector<int32_t> &ids, std::string_view *missing) const override;

private:
  class Run;
  const TokenTable &vocabulary_;
  std::vector<float> scores_;
  std::vector<bool> unused_;
  std::array<int32_t, 256> fallback_;
  bool hasFallback_ = false;
  int32_t unknownId_ = -1;
};

} // namespace tessera::text
#endif
