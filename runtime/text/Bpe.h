// Byte-pair encoding of one piece of text by a list of rules (Sennrich et al. 2016), on bytes as in GPT-2
// (Radford et al. 2019) or on characters.
#ifndef TESSERA_RUNTIME_TEXT_BPE_H
#define TESSERA_RUNTIME_TEXT_BPE_H

#include "PieceEncoder.h"
#include "TokenTable.h"

#include <array>

namespace tessera::text {

class Bpe : public PieceEncoder {
public:
  // `vocabulary` outlives this. It holds bytes, or, onCharacters, texts.
  explicit Bpe(const TokenTable &vocabulary, bool onCharacters = false);

  // What stands for a character or byte without a token. fuse: one token for all that follow each other.
  void setUnknown(int32_t id, bool fuse) { unknownId_ = id, fuseUnknown_ = fuse; }
  // A character without a token is the tokens of its bytes. All 256 must be there.
  void setByteFallback(const std::array<int32_t, 256> &ids) { fallback_ = ids, hasFallback_ = true; }
  void reserveMerges(size_t count);
  // Pairs found in more than one rule keep the last, as in Hugging Face's implementation.
  void addMerge(int32_t left, int32_t right, int32_t rank, int32_t merged);
  // A piece that is a token as a whole is not built from merges (`ignore_merges`).
  void ignoreMerges() { ignoreMerges_ = true; }

  // Of all adjacent pairs that a rule merges, the rule listed first is applied, leftmost first, until none
  // applies. Cost: O(n log n) in the bytes of the piece.
  bool encode(std::string_view piece, std::vector<int32_t> &ids, std::string_view *missing) const override;
  // The same; *candidates is the number of merges that were looked at.
  bool encode(std::string_view piece, std::vector<int32_t> &ids, std::string_view *missing,
              int64_t *candidates) const;

private:
  struct Merge {
    int32_t left, right; // -1: empty
    int32_t rank, merged;
  };
  const Merge *findMerge(int32_t left, int32_t right) const;
  void growMerges(size_t slots);
  bool addUnits(std::string_view piece, std::vector<int32_t> &units, std::string_view *missing) const;
  static size_t hashPair(int32_t left, int32_t right) {
    uint64_t hash = (uint64_t(uint32_t(left)) << 32 | uint32_t(right)) * 0x9E3779B97F4A7C15u;
    return size_t(hash ^ hash >> 32);
  }
  void mergeFew(std::vector<int32_t> &units) const;
  void mergeMany(const std::vector<int32_t> &units, std::vector<int32_t> &ids, int64_t *candidates) const;

  const TokenTable &vocabulary_;
  bool onCharacters_;
  std::array<int32_t, 256> byteIds_; // of texts of one byte
  std::array<int32_t, 256> fallback_;
  bool hasFallback_ = false;
  int32_t unknownId_ = -1;
  bool fuseUnknown_ = false;
  bool ignoreMerges_ = false;
  std::vector<Merge> merges_; // an open table, a power of two long, or empty
  size_t mergeCount_ = 0;
};

} // namespace tessera::text
#endif
