#include "UnicodeForms.h"

#include "Unicode.h"
#include "UnicodeTables.h"
#include "tessera/runtime/jinja/Characters.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace tessera::text {

namespace {
struct Range {
  uint32_t first, last, value;
};

// Reads the entries of one table.
class TableReader {
public:
  explicit TableReader(const char *text) : at_(text) {}
  bool next() {
    if (!*at_)
      return false;
    key_ += number();
    return true;
  }
  uint32_t key() const { return key_; }
  char mark() const { return *at_; }
  uint32_t number() {
    uint32_t value = 0;
    for (; isDigit(*at_); ++at_)
      value = value * 16 + uint32_t(*at_ <= '9' ? *at_ - '0' : *at_ - 'A' + 10);
    return value;
  }
  uint32_t numberAfter() { return ++at_, number(); } // behind a mark
  void end() { ++at_; }

private:
  static bool isDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); }
  const char *at_;
  uint32_t key_ = 0;
};

struct Tables {
  std::unordered_map<uint32_t, std::u32string> canonical, compatible; // one step
  std::unordered_map<uint64_t, uint32_t> composed;                    // of two
  std::vector<Range> classes, marks, words;

  Tables() {
    readTexts(canonicalDecompositions, canonical, &composed);
    readTexts(compatibleDecompositions, compatible, nullptr);
    for (TableReader reader(combiningClasses); reader.next(); reader.end()) {
      uint32_t more = reader.numberAfter();
      classes.push_back({reader.key(), reader.key() + more, reader.numberAfter()});
    }
    readRanges(text::marks, marks);
    readRanges(wordCharacters, words);
  }

private:
  static void readRanges(const char *table, std::vector<Range> &ranges) {
    for (TableReader reader(table); reader.next(); reader.end())
      ranges.push_back({reader.key(), reader.key() + reader.numberAfter(), 1});
  }
  static void readText(TableReader &reader, std::u32string &text) {
    while (reader.mark() != ';')
      text += char32_t(reader.numberAfter());
  }
  static void readTexts(const char *table, std::unordered_map<uint32_t, std::u32string> &texts,
                        std::unordered_map<uint64_t, uint32_t> *composed) {
    for (TableReader reader(table); reader.next(); reader.end()) {
      bool composes = reader.mark() == ':';
      std::u32string &text = texts[reader.key()];
      readText(reader, text);
      if (composes && composed)
        (*composed)[uint64_t(text[0]) << 32 | text[1]] = reader.key();
    }
  }
};

const Tables &tables() {
  static const Tables tables;
  return tables;
}

uint32_t find(const std::vector<Range> &ranges, uint32_t c) {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), c,
                                [](uint32_t value, const Range &range) { return value < range.first; });
  return after != ranges.begin() && c <= after[-1].last ? after[-1].value : 0;
}

// Syllables of Hangul are composed by arithmetic (Unicode 3.12).
constexpr uint32_t syllables = 0xAC00, leads = 0x1100, vowels = 0x1161, trails = 0x11A7, vowelCount = 21,
                   trailCount = 28, syllableCount = 19 * vowelCount * trailCount;

void decompose(uint32_t c, bool compatible, std::u32string &out) {
  if (c < 0xA0) {
    out += char32_t(c);
    return;
  }
  if (c - syllables < syllableCount) {
    uint32_t index = c - syllables;
    out += char32_t(leads + index / (vowelCount * trailCount));
    out += char32_t(vowels + index / trailCount % vowelCount);
    if (index % trailCount)
      out += char32_t(trails + index % trailCount);
    return;
  }
  const std::u32string *parts = nullptr;
  if (auto found = tables().canonical.find(c); found != tables().canonical.end())
    parts = &found->second;
  else if (compatible)
    if (auto other = tables().compatible.find(c); other != tables().compatible.end())
      parts = &other->second;
  if (!parts) {
    out += char32_t(c);
    return;
  }
  for (char32_t part : *parts)
    decompose(part, compatible, out);
}

uint32_t compose(uint32_t first, uint32_t second) { // 0: they do not
  if (first - leads < 19 && second - vowels < vowelCount)
    return syllables + ((first - leads) * vowelCount + (second - vowels)) * trailCount;
  if (first - syllables < syllableCount && (first - syllables) % trailCount == 0 && second > trails &&
      second < trails + trailCount)
    return first + (second - trails);
  auto found = tables().composed.find(uint64_t(first) << 32 | second);
  return found == tables().composed.end() ? 0 : found->second;
}

// The part of UAX 15 that puts characters together again.
void composeAll(std::u32string &text, const std::vector<uint8_t> &classes) {
  size_t starter = text.size(), kept = 0;
  int lastClass = -1; // of what stands between the starter and here
  for (size_t i = 0; i < text.size(); ++i) {
    int own = classes[i];
    uint32_t together = 0;
    if (starter < kept && lastClass < own)
      together = compose(text[starter], text[i]);
    if (together) {
      text[starter] = char32_t(together);
      continue;
    }
    if (own == 0)
      starter = kept, lastClass = -1;
    else
      lastClass = own;
    text[kept++] = text[i];
  }
  text.resize(kept);
}

template <typename Visit> void forEachCharacter(std::string_view text, Visit visit) {
  while (!text.empty()) {
    Utf8Scan scan = scanUtf8(text);
    visit(scan.codepoint);
    text.remove_prefix(scan.length);
  }
}

bool isAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}
} // namespace

bool isMark(uint32_t c) { return c >= 0x300 && find(tables().marks, c) != 0; }

bool isWord(uint32_t c) { return find(tables().words, c) != 0; }

bool isSpace(uint32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

std::string toForm(std::string_view text, UnicodeForm form) {
  if (isAscii(text))
    return std::string(text);
  std::u32string out;
  bool compatible = form == UnicodeForm::NFKC || form == UnicodeForm::NFKD;
  forEachCharacter(text, [&](uint32_t c) { decompose(c, compatible, out); });

  std::vector<uint8_t> classes(out.size());
  std::vector<std::tuple<uint8_t, size_t, char32_t>> run; // class, place, mark
  auto sortRun = [&](size_t end) {                        // marks on one character, by class
    std::sort(run.begin(), run.end());                    // the place breaks ties
    for (size_t i = 0; i < run.size(); ++i)
      classes[end - run.size() + i] = std::get<0>(run[i]), out[end - run.size() + i] = std::get<2>(run[i]);
    run.clear();
  };
  for (size_t i = 0; i < out.size(); ++i) {
    uint8_t own = out[i] < 0x300 ? 0 : uint8_t(find(tables().classes, out[i]));
    if (own)
      run.emplace_back(own, i, out[i]);
    else if (!run.empty())
      sortRun(i);
  }
  sortRun(out.size());
  if (form == UnicodeForm::NFC || form == UnicodeForm::NFKC)
    composeAll(out, classes);
  std::string bytes;
  for (char32_t c : out)
    appendUtf8(c, bytes);
  return bytes;
}

std::string toLower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  forEachCharacter(text, [&](uint32_t c) { jinja::appendLower(c, out); });
  return out;
}

std::string withoutMarks(std::string_view text) {
  if (isAscii(text))
    return std::string(text);
  std::string out;
  forEachCharacter(text, [&](uint32_t c) {
    if (!isMark(c))
      appendUtf8(c, out);
  });
  return out;
}

} // namespace tessera::text
