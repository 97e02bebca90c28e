#include "Normalizer.h"

#include "Unicode.h"

namespace tessera::text {

void Normalizer::addForm(UnicodeForm form) {
  add([form](std::string_view text, size_t, bool &) -> Result<std::string> { return toForm(text, form); });
}

void Normalizer::addLowercase() {
  add([](std::string_view text, size_t, bool &) -> Result<std::string> { return toLower(text); });
}

void Normalizer::addStripAccents() {
  add([](std::string_view text, size_t, bool &losesFront) -> Result<std::string> {
    losesFront |= !text.empty() && isMark(scanUtf8(text).codepoint);
    return withoutMarks(text);
  });
}

void Normalizer::addStrip(bool left, bool right) {
  add([left, right](std::string_view text, size_t, bool &losesFront) -> Result<std::string> {
    size_t begin = text.size(), end = 0; // of what is no space
    for (size_t at = 0; at < text.size();) {
      Utf8Scan scan = scanUtf8(text.substr(at));
      if (!isSpace(scan.codepoint)) {
        begin = std::min(begin, at);
        end = at + scan.length;
      }
      at += scan.length;
    }
    if (!left || begin == text.size())
      begin = left ? text.size() : 0;
    if (!right)
      end = text.size();
    losesFront |= begin > 0;
    return std::string(end > begin ? text.substr(begin, end - begin) : std::string_view());
  });
}

void Normalizer::addPrepend(std::string prefix) {
  add([prefix = std::move(prefix)](std::string_view text, size_t, bool &) -> Result<std::string> {
    return text.empty() ? std::string() : prefix + std::string(text);
  });
}

void Normalizer::addReplace(std::unique_ptr<Regex> pattern, std::string content) {
  std::shared_ptr<Regex> shared = std::move(pattern);
  add([shared, content = std::move(content)](std::string_view text, size_t most,
                                             bool &losesFront) -> Result<std::string> {
    std::string out;
    size_t at = 0;
    Status status = shared->forEachMatch(text, [&](size_t begin, size_t end) {
      losesFront |= begin == 0 && content.empty();
      if (out.size() <= most) {
        out += text.substr(at, begin - at);
        out += content;
      }
      at = end;
    });
    if (!status)
      return status.takeFailure();
    out += text.substr(at);
    return out;
  });
}

void Normalizer::addCharsmap(Charsmap map, std::unique_ptr<Regex> graphemes) {
  std::shared_ptr<Regex> shared = std::move(graphemes);
  // What a rule drops at the front counts as there still: Hugging Face gives its place to what follows.
  add([map = std::move(map), shared](std::string_view text, size_t most, bool &) -> Result<std::string> {
    return map.replaceGraphemes(text, *shared, most);
  });
}

Result<std::string> Normalizer::apply(std::string_view text, bool &losesFront) const {
  std::string now(text);
  const size_t most = 64 * text.size() + 65536; // a rule may replace a letter by a megabyte
  for (const Step &step : steps_) {
    Result<std::string> next = step(now, most, losesFront);
    if (!next)
      return next;
    if (next->size() > most)
      return Failure{"cannot tokenize", "", "the normalized text is more than 64 times as long",
                     "use a shorter text"};
    now = next.take();
  }
  return now;
}

} // namespace tessera::text
