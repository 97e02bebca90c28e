// Rewriting a text before it is cut, one step after another.
#ifndef TESSERA_RUNTIME_TEXT_NORMALIZER_H
#define TESSERA_RUNTIME_TEXT_NORMALIZER_H

#include "Charsmap.h"
#include "UnicodeForms.h"

#include <functional>

namespace tessera::text {

class Normalizer {
public:
  // What a step makes of a text; `losesFront` is set if nothing is left of the text's first character. What
  // is longer than `most` bytes is refused: a step need not go on there.
  using Step = std::function<Result<std::string>(std::string_view text, size_t most, bool &losesFront)>;

  void add(Step step) { steps_.push_back(std::move(step)); }
  void addForm(UnicodeForm form);
  void addLowercase();
  void addStripAccents();
  void addStrip(bool left, bool right); // white space at the ends
  void addPrepend(std::string prefix);  // unless the text is empty
  void addReplace(std::unique_ptr<Regex> pattern, std::string content);
  void addCharsmap(Charsmap map, std::unique_ptr<Regex> graphemes); // as Hugging Face applies it
  bool empty() const { return steps_.empty(); }

  // Fails if all steps together make a text more than 64 times (and 64 KiB) longer.
  Result<std::string> apply(std::string_view text, bool &losesFront) const;

private:
  std::vector<Step> steps_;
};

} // namespace tessera::text
#endif
