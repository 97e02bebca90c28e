// Finding special tokens that are written out in a text.
#ifndef TESSERA_RUNTIME_TEXT_ADDEDTOKENS_H
#define TESSERA_RUNTIME_TEXT_ADDEDTOKENS_H

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace tessera::text {

class AddedTokens {
public:
  void add(std::string_view content, int32_t id); // content not empty; the last id of equal contents counts
  bool empty() const { return nodes_.size() == 1; }

  struct Match {
    size_t begin, end;
    int32_t id;
  };
  // The leftmost match at or after `from`, the longest of those that begin there; end == 0 if there is none.
  // Cost: at most the length of the longest token per byte.
  Match find(std::string_view text, size_t from) const;

private:
  struct Node {
    std::map<uint8_t, size_t> next;
    int32_t id = -1;
  };
  std::vector<Node> nodes_ = std::vector<Node>(1); // a trie; nodes_[0] is the root
  bool starts_[256] = {};
};

} // namespace tessera::text
#endif
