// Cutting text into the pieces that BPE works on, one step after another.
#ifndef TESSERA_RUNTIME_TEXT_PRETOKENIZER_H
#define TESSERA_RUNTIME_TEXT_PRETOKENIZER_H

#include "Regex.h"

#include <deque>
#include <vector>

namespace tessera::text {

// What becomes of the matches of a split pattern (Hugging Face's SplitDelimiterBehavior).
enum class SplitBehavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

inline constexpr const char *gpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class PreTokenizer {
public:
  void addSplit(std::unique_ptr<Regex> pattern, SplitBehavior behavior, bool invert);
  void addPrefixSpace(); // a piece that does not begin with a blank gets one

  // Cuts `text` (valid UTF-8). The pieces are views of `text` or of strings that `owned` then holds.
  Status split(std::string_view text, std::vector<std::string_view> &pieces,
               std::deque<std::string> &owned) const;

private:
  struct Step {
    std::unique_ptr<Regex> pattern; // null: prefix space
    SplitBehavior behavior = SplitBehavior::Isolated;
    bool invert = false;
  };
  static Status splitPiece(const Step &step, std::string_view piece, std::vector<std::string_view> &out);
  std::vector<Step> steps_;
};

} // namespace tessera::text
#endif
