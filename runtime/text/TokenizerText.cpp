// A vocabulary of 150,000 tokens and its merges are most of a tokenizer.json, and a JSON value for each would
// cost more than all else that a start does. So the two tables are cut out and read here; io::parseJson reads
// what is left. Whatever is not spelled as it should be stays in, and is refused there.
#include "TokenizerText.h"

#include "Unicode.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace tessera::text {

namespace {
class TableCutter {
public:
  TableCutter(std::string_view json, TokenizerText &text) : json_(json), text_(text) {}

  // False if this is no JSON of the form we know, or a table is damaged (then `problem` says where).
  bool cut() {
    if (!take('{'))
      return false;
    bool ok = eachMember([&](std::string_view name) { return name == "model" ? readModel() : skipValue(); });
    rest_ += json_.substr(copied_);
    return ok;
  }
  std::string problem;
  const std::string &rest() const { return rest_; }

private:
  char peek() {
    while (at_ < json_.size() &&
           (json_[at_] == ' ' || json_[at_] == '\n' || json_[at_] == '\t' || json_[at_] == '\r'))
      ++at_;
    return at_ < json_.size() ? json_[at_] : '\0';
  }
  bool take(char c) { return peek() == c && (++at_, true); }

  // Members of an open object, to its end. visit(name) reads the value.
  template <typename Visit> bool eachMember(Visit visit) {
    if (take('}'))
      return true;
    JsonStrings names;
    do {
      if (!readString(names) || !take(':') || !visit(names.texts.back()))
        return false;
    } while (take(','));
    return take('}');
  }
  // Values of an open list, to its end.
  template <typename Visit> bool eachValue(Visit visit) {
    if (take(']'))
      return true;
    do {
      if (!visit())
        return false;
    } while (take(','));
    return take(']');
  }

  // Passes over a value without looking into it: what is wrong with it is found when the rest is parsed.
  bool skipValue() {
    char c = peek();
    if (c == '"')
      return skipString();
    if (c != '{' && c != '[') {
      while (at_ < json_.size() && !std::strchr(",]} \n\t\r", json_[at_]))
        ++at_;
      return true;
    }
    size_t depth = 0;
    do {
      size_t next = json_.find_first_of("\"{}[]", at_);
      if (next == std::string_view::npos)
        return false;
      at_ = next;
      c = json_[at_];
      if (c == '"') {
        if (!skipString())
          return false;
        continue;
      }
      depth += c == '{' || c == '[';
      depth -= c == '}' || c == ']';
      ++at_;
    } while (depth > 0);
    return true;
  }
  bool skipString() {
    for (++at_; at_ < json_.size(); ++at_) {
      if (json_[at_] == '\\')
        ++at_;
      else if (json_[at_] == '"')
        return ++at_, true;
    }
    return false;
  }

  bool readString(JsonStrings &strings) {
    // Each takes many times its bytes; the vocabularies of models have up to a million tokens, and rules.
    constexpr size_t kMostTexts = size_t(1) << 23;
    if (strings.texts.size() == kMostTexts)
      return problem = "one of its tables has more than " + std::to_string(kMostTexts) + " texts", false;
    if (!take('"'))
      return false;
    const size_t begin = at_;
    bool ascii = true;
    for (; at_ < json_.size() && json_[at_] != '"' && json_[at_] != '\\'; ++at_) {
      if (static_cast<uint8_t>(json_[at_]) < 0x20)
        return false;
      ascii &= static_cast<uint8_t>(json_[at_]) < 0x80;
    }
    std::string_view plain = json_.substr(begin, at_ - begin);
    if (!ascii && !isValidUtf8(plain))
      return false;
    if (take('"')) {
      strings.texts.push_back(plain);
      return true;
    }
    strings.unescaped.emplace_back(plain);
    if (!readEscaped(strings.unescaped.back()))
      return false;
    strings.texts.push_back(strings.unescaped.back());
    return true;
  }
  // The part of a string behind its first escape.
  bool readEscaped(std::string &out) {
    while (at_ < json_.size()) {
      char c = json_[at_++];
      if (c == '"')
        return isValidUtf8(out);
      if (static_cast<uint8_t>(c) < 0x20)
        return false;
      if (c != '\\') {
        out += c;
        continue;
      }
      if (at_ == json_.size())
        return false;
      static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
      c = json_[at_++];
      if (c == 'u') {
        uint32_t unit = 0, second = 0;
        if (!readUnit(unit))
          return false;
        if (unit >= 0xD800 && unit < 0xDC00) {
          if (json_.substr(at_, 2) != "\\u" || (at_ += 2, !readUnit(second)) || second < 0xDC00 ||
              second > 0xDFFF)
            return false;
          unit = 0x10000 + ((unit - 0xD800) << 10) + (second - 0xDC00);
        } else if (unit >= 0xDC00 && unit < 0xE000) {
          return false;
        }
        appendUtf8(unit, out);
      } else if (const char *known = c ? std::strchr(from, c) : nullptr) {
        out += to[known - from];
      } else {
        return false;
      }
    }
    return false;
  }
  bool readUnit(uint32_t &unit) {
    if (json_.size() - at_ < 4)
      return false;
    const char *begin = json_.data() + at_;
    auto [end, error] = std::from_chars(begin, begin + 4, unit, 16);
    at_ += 4;
    return error == std::errc() && end == begin + 4;
  }

  bool readModel() {
    if (peek() != '{')
      return skipValue();
    ++at_;
    return eachMember([&](std::string_view name) {
      if (name == "vocab" && !hasVocabulary_)
        return hasVocabulary_ = true,
               cutOut(peek() == '{' ? &TableCutter::readIds : &TableCutter::readScores);
      if (name == "merges" && !hasMerges_)
        return hasMerges_ = true, cutOut(&TableCutter::readMerges);
      return skipValue();
    });
  }
  // Reads an object or list with `read`, and leaves an empty one in its place.
  bool cutOut(bool (TableCutter::*read)()) {
    char open = peek();
    if (open != '{' && open != '[')
      return skipValue();
    rest_ += json_.substr(copied_, at_ - copied_);
    ++at_;
    if (!(this->*read)())
      return false;
    rest_ += open == '{' ? "{}" : "[]";
    copied_ = at_;
    return true;
  }

  bool damaged(std::string what) {
    if (problem.empty())
      problem = std::move(what) + " is missing or damaged";
    return false;
  }
  template <typename T> bool readNumber(T &number) {
    peek();
    const char *begin = json_.data() + at_, *last = json_.data() + json_.size();
    auto [end, error] = std::from_chars(begin, last, number);
    at_ += size_t(end - begin);
    char next = peek();
    return error == std::errc() && (next == ',' || next == '}' || next == ']');
  }

  bool readIds() {
    if (take('}'))
      return true;
    do {
      if (!readString(text_.tokens) || !take(':'))
        return false;
      uint32_t id = 0;
      if (!readNumber(id) || id > uint32_t(INT32_MAX))
        return damaged("the id of token \"" + std::string(text_.tokens.texts.back()) + "\"");
      text_.ids.push_back(int32_t(id));
    } while (take(','));
    return take('}');
  }
  bool readScores() {
    return eachValue([&] {
      double score = 0;
      if (!take('[') || !readString(text_.tokens) || !take(',') || !readNumber(score) ||
          !std::isfinite(score) || !take(']')) // from_chars knows "inf" and "nan"
        return damaged("an entry of \"vocab\"");
      text_.scores.push_back(score);
      return true;
    });
  }
  // "a b", the older spelling, or ["a", "b"].
  bool readMerges() {
    JsonStrings &merges = text_.merges;
    return eachValue([&] {
      if (peek() == '[') {
        ++at_;
        return (readString(merges) && take(',') && readString(merges) && take(']')) ||
               damaged("an entry of \"merges\"");
      }
      if (!readString(merges))
        return damaged("an entry of \"merges\"");
      std::string_view both = merges.texts.back();
      size_t blank = both.find(' ');
      if (blank == std::string_view::npos)
        return damaged("the merge \"" + std::string(both) + "\"");
      merges.texts.back() = both.substr(0, blank);
      merges.texts.push_back(both.substr(blank + 1));
      return true;
    });
  }

  std::string_view json_;
  TokenizerText &text_;
  std::string rest_;
  size_t at_ = 0, copied_ = 0; // json_ up to copied_ is in rest_, but for the tables
  bool hasVocabulary_ = false, hasMerges_ = false;
};
} // namespace

Result<TokenizerText> parseTokenizerText(std::string_view json, const std::string &where) {
  TokenizerText text;
  auto failure = [&](const std::string &why, const std::string &hint) {
    return Failure{"cannot use the tokenizer", where, why, hint};
  };
  if (json.size() > (size_t(256) << 20))
    return failure("larger than 256 MiB", "is it the tokenizer's file? fetch it again");
  TableCutter cutter(json, text);
  bool isCut = cutter.cut();
  if (!cutter.problem.empty())
    return failure(cutter.problem, "is the file whole?");
  Result<nlohmann::json> rest = io::parseJson(isCut ? std::string_view(cutter.rest()) : json, where);
  // The tables were cut out of what is no JSON: once more, to say where.
  if (!rest && isCut)
    rest = io::parseJson(json, where);
  if (!rest)
    return failure(rest.failure().why, rest.failure().hint);
  if (!isCut)
    return failure("its \"model\" is damaged", "is the file whole?");
  text.rest = rest.take();
  return text;
}

} // namespace tessera::text
