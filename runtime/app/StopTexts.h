// --stop=TEXT: where an answer ends, however its tokens cut that text.
#ifndef TESSERA_RUNTIME_APP_STOPTEXTS_H
#define TESSERA_RUNTIME_APP_STOPTEXTS_H

#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

class StopTexts {
public:
  // `texts`: none of them is empty. Must outlive this.
  explicit StopTexts(const std::vector<std::string> &texts) : texts_(texts) {}

  // What of the text so far is certain to stand before any stop text, and was not given before. What may be
  // the beginning of one is held back. Cost: O(bytes of `text` and of the longest stop text, times their
  // number).
  std::string push(std::string_view text);
  // What was held back, once no more comes: it was no stop text.
  std::string flush();
  // One of them has come: nothing of it or behind it is given.
  bool isMet() const { return isMet_; }

private:
  const std::vector<std::string> &texts_;
  std::string held_;
  bool isMet_ = false;
};

} // namespace tessera::runtime
#endif
