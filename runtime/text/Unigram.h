// Unigram language model (Kudo 2018): of all ways to cut a piece into tokens, the one whose scores sum to the
// most.
#ifndef TESSERA_RUNTIME_TEXT_UNIGRAM_H
#define TESSERA_RUNTIME_TEXT_UNIGRAM_H

#include "PieceEncoder.h"

#include <array>

namespace tessera::text {

class Unigram : public PieceEncoder {
public:
  // A token that may be in a cut; `text` not empty. The last of equal texts counts.
  void add(std::string_view text, int32_t id, double score);
  // Stands for a character that no token begins with alone, at 10 less than the least of all scores; several
  // in a row are one.
  void setUnknown(int32_t id) { unknownId_ = id; }
  // Characters without a token are the tokens of their bytes instead. All 256 must be there.
  void setByteFallback(const std::array<int32_t, 256> &ids) { fallback_ = ids, hasFallback_ = true; }

  // Of cuts with the same sum, the one whose last token is longest, and so on to the front. Cost: the bytes
  // of the piece times the length of the longest token.
  bool encode(std::string_view piece, std::vector<int32_t> &ids, std::string_view *missing) const override;

private:
  struct Node {
    int32_t id = -1;
    double score = 0;
  };
  struct Edge {
    uint32_t from; // plus one; 0 is empty
    uint8_t byte;
    uint32_t to;
  };
  uint32_t follow(uint32_t node, uint8_t byte) const; // 0: there is none
  void grow();

  std::vector<Node> nodes_ = std::vector<Node>(1); // a trie; nodes_[0] is the root
  std::vector<Edge> edges_ = std::vector<Edge>(16);
  double leastScore_ = 0;
  bool hasScore_ = false;
  std::array<int32_t, 256> fallback_;
  bool hasFallback_ = false;
  int32_t unknownId_ = -1;
};

} // namespace tessera::text
#endif
