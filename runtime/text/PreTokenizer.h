// Cutting text into the pieces that the model works on, one step after another.
#ifndef TESSERA_RUNTIME_TEXT_PRETOKENIZER_H
#define TESSERA_RUNTIME_TEXT_PRETOKENIZER_H

#include "Regex.h"

#include <deque>
#include <vector>

namespace tessera::text {

// What becomes of the matches of a split pattern (Hugging Face's SplitDelimiterBehavior).
enum class SplitBehavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };
// Which pieces get a blank in front.
enum class PrependScheme { Never, First, Always };

inline constexpr const char *gpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class PreTokenizer {
public:
  void addSplit(std::unique_ptr<Regex> pattern, SplitBehavior behavior, bool invert);
  void addPrefixSpace(); // a piece that does not begin with a blank gets one
  // Blanks become `blank`; a piece that does not begin with it gets one in front; every one begins a new
  // piece if `split`.
  void addMetaspace(std::string blank, PrependScheme scheme, bool split);

  // Cuts `text` (valid UTF-8). The pieces are views of `text` or of strings that `owned` then holds. atStart:
  // nothing stands before `text`.
  Status split(std::string_view text, bool atStart, std::vector<std::string_view> &pieces,
               std::deque<std::string> &owned) const;

private:
  struct Step {
    std::unique_ptr<Regex> pattern; // null: a prefix, or metaspace
    SplitBehavior behavior = SplitBehavior::Isolated;
    bool invert = false;
    std::string blank; // metaspace; empty: a prefix space
    PrependScheme scheme = PrependScheme::Always;
    bool cuts = false;
  };
  static Status splitPiece(const Step &step, std::string_view piece, std::vector<std::string_view> &out);
  static void metaspacePiece(const Step &step, std::string_view piece, bool isFirst,
                             std::vector<std::string_view> &out, std::deque<std::string> &owned);
  std::vector<Step> steps_;
};

} // namespace tessera::text
#endif
