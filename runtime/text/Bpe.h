// Byte-pair encoding of one piece of text (Sennrich et al. 2016; on bytes as in GPT-2, Radford et al. 2019).
#ifndef TESSERA_RUNTIME_TEXT_BPE_H
#define TESSERA_RUNTIME_TEXT_BPE_H

#include "tessera/runtime/Result.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tessera::text {

class Bpe {
public:
  Bpe() { byteIds_.fill(-1); }

  void setByte(uint8_t byte, int32_t id) { byteIds_[byte] = id; }
  void setUnknown(int32_t id, bool fuse) { unknownId_ = id, fuseUnknown_ = fuse; }
  // Pairs found in more than one rule keep the last, as in Hugging Face's implementation.
  void addMerge(int32_t left, int32_t right, int32_t rank, int32_t merged) {
    merges_[pairKey(left, right)] = {rank, merged};
  }
  // A piece that is a token as a whole is not built from merges (`ignore_merges`).
  void addWhole(std::string bytes, int32_t id) { wholes_.emplace(std::move(bytes), id); }

  // Appends the ids of `piece`: of all adjacent pairs that a rule merges, the rule listed first is applied,
  // leftmost first, until none applies. False if a byte has no token (and there is no unknown token):
  // *badByte is that byte. Cost: O(n log n) in the bytes of the piece; *candidates, if given, is the number
  // of merges that were looked at.
  bool encode(std::string_view piece, std::vector<int32_t> &ids, uint8_t *badByte,
              int64_t *candidates = nullptr) const;

private:
  struct Merge {
    int32_t rank, merged;
  };
  static uint64_t pairKey(int32_t left, int32_t right) {
    return uint64_t(uint32_t(left)) << 32 | uint32_t(right);
  }

  std::array<int32_t, 256> byteIds_;
  int32_t unknownId_ = -1;
  bool fuseUnknown_ = false;
  std::unordered_map<uint64_t, Merge> merges_;
  std::unordered_map<std::string, int32_t> wholes_;
};

} // namespace tessera::text
#endif
