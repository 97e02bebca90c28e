#include "Lexer.h"

#include "Heap.h"
#include "tessera/runtime/jinja/Characters.h"

#include <algorithm>
#include <cstring>

namespace tessera::jinja {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool beginsName(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80); }

class Lexer {
public:
  explicit Lexer(std::string_view source) {
    // Line ends become \n, and the last one goes (keep_trailing_newline is off).
    for (size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n')
        continue;
      text_ += source[i] == '\r' ? '\n' : source[i];
    }
    if (!text_.empty() && text_.back() == '\n')
      text_.pop_back();
  }

  std::vector<Token> run() {
    while (at_ < text_.size())
      lexData();
    add(Token::End, "");
    return std::move(tokens_);
  }

private:
  [[noreturn]] void bad(const std::string &why) { throw TemplateError{why, "", line_}; }
  bool startsWith(std::string_view what, size_t at) const {
    return text_.compare(at, what.size(), what) == 0;
  }
  void add(Token::Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  void moveTo(size_t end) {
    line_ += int(std::count(text_.begin() + long(at_), text_.begin() + long(end), '\n'));
    if (end > at_)
      lineStarts_ = text_[end - 1] == '\n';
    at_ = end;
  }
  size_t skipSpace(size_t at) const {
    while (at < text_.size()) {
      size_t next = at;
      if (!isSpace(nextCharacter(text_, next)))
        break;
      at = next;
    }
    return at;
  }

  // Text up to the next tag, which may take blanks away at its left: `sign` is what stands behind its braces.
  void addData(size_t begin, size_t end, char sign, bool isVariable) {
    std::string_view data = std::string_view(text_).substr(begin, end - begin);
    if (sign == '-') {
      data = strip(data, nullptr, false, true);
    } else if (sign != '+' && !isVariable) {
      size_t lineBegin = data.rfind('\n') + 1; // 0 if there is none
      if (lineBegin > 0 || lineStarts_)
        if (strip(data.substr(lineBegin), nullptr, true, false).empty())
          data = data.substr(0, lineBegin);
    }
    if (!data.empty())
      add(Token::Data, std::string(data));
  }

  // Behind `closing` ("%}", "#}"), which stands at `at` with its sign: what it takes away at its right.
  size_t behindClosing(size_t at, bool trimsNewline) const {
    bool minus = text_[at] == '-', plus = text_[at] == '+';
    at += 2 + (minus || plus);
    if (minus)
      return skipSpace(at);
    return trimsNewline && !plus && at < text_.size() && text_[at] == '\n' ? at + 1 : at;
  }

  void lexData() {
    size_t open = at_;
    for (;; ++open) {
      open = text_.find('{', open);
      if (open == std::string::npos || open + 1 >= text_.size()) {
        add(Token::Data, text_.substr(at_));
        return moveTo(text_.size());
      }
      if (std::strchr("%{#", text_[open + 1]) && text_[open + 1])
        break;
    }
    char kind = text_[open + 1];
    size_t inside = open + 2;
    char sign = inside < text_.size() && (text_[inside] == '-' || text_[inside] == '+') ? text_[inside] : 0;
    inside += sign != 0;
    addData(at_, open, sign, kind == '{');
    moveTo(inside);
    if (kind == '#')
      return lexComment();
    if (kind == '%') {
      if (size_t raw = behindRawTag("raw"); raw != std::string::npos)
        return lexRaw(raw);
      add(Token::BlockBegin, "{%");
      return lexTag(Token::BlockEnd, "%}");
    }
    add(Token::VariableBegin, "{{");
    lexTag(Token::VariableEnd, "}}");
  }

  void lexComment() {
    size_t close = text_.find("#}", at_);
    if (close == std::string::npos)
      bad("a comment has no end");
    bool sign = close > at_ && (text_[close - 1] == '-' || text_[close - 1] == '+');
    moveTo(behindClosing(close - sign, true));
  }

  // Behind `raw %}` if that stands here, whose end takes no line break away.
  size_t behindRawTag(std::string_view name) const {
    size_t at = skipSpace(at_);
    if (!startsWith(name, at))
      return std::string::npos;
    at = skipSpace(at + name.size());
    if (startsWith("%}", at) || startsWith("-%}", at))
      return behindClosing(at, false);
    return std::string::npos;
  }

  void lexRaw(size_t begin) {
    moveTo(begin);
    for (size_t open = begin; (open = text_.find("{%", open)) != std::string::npos; ++open) {
      size_t inside = open + 2;
      char sign = inside < text_.size() && (text_[inside] == '-' || text_[inside] == '+') ? text_[inside] : 0;
      size_t at = skipSpace(inside + (sign != 0));
      if (!startsWith("endraw", at))
        continue;
      at = skipSpace(at + 6);
      if (!startsWith("%}", at) && !startsWith("-%}", at) && !startsWith("+%}", at))
        continue;
      addData(begin, open, sign, false);
      return moveTo(behindClosing(at, true));
    }
    bad("a raw block has no end");
  }

  void lexTag(Token::Kind endKind, std::string_view closing) {
    std::string open; // brackets
    for (;;) {
      moveTo(skipSpace(at_));
      if (at_ >= text_.size())
        bad("a tag has no end: " + std::string(closing) + " is missing");
      if (open.empty()) {
        bool sign = text_[at_] == '-' || (text_[at_] == '+' && endKind == Token::BlockEnd);
        if (startsWith(closing, at_ + sign)) {
          add(endKind, std::string(closing));
          return moveTo(behindClosing(at_, endKind == Token::BlockEnd));
        }
      }
      lexToken(open);
    }
  }

  void lexToken(std::string &open) {
    char c = text_[at_];
    if (isDigit(c))
      return lexNumber();
    if (beginsName(c))
      return lexName();
    if (c == '"' || c == '\'')
      return lexString(c);
    for (const char *two : {"//", "**", "==", "!=", ">=", "<="})
      if (startsWith(two, at_)) {
        add(Token::Operator, two);
        return moveTo(at_ + 2);
      }
    if (!c || !std::strchr("+-/*%~[](){}><=.:|,;", c))
      bad("a character has no meaning here: " + text_.substr(at_, characterLength(c)));
    if (c == '(' || c == '[' || c == '{') {
      if (open.size() >= size_t(Limits::maxNesting))
        bad("brackets nest deeper than " + std::to_string(Limits::maxNesting) + " levels");
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c)
        bad(std::string("a bracket closes nothing: ") + c);
      open.pop_back();
    }
    add(Token::Operator, std::string(1, c));
    moveTo(at_ + 1);
  }

  void lexName() {
    size_t end = at_;
    while (end < text_.size() && (beginsName(text_[end]) || isDigit(text_[end])))
      end += characterLength(text_[end]);
    add(Token::Name, text_.substr(at_, end - at_));
    moveTo(end);
  }

  size_t digits(size_t at, bool (*isOne)(char)) const {
    while (at < text_.size() &&
           (isOne(text_[at]) || (text_[at] == '_' && at + 1 < text_.size() && isOne(text_[at + 1]))))
      ++at;
    return at;
  }
  void lexNumber() {
    size_t end = at_;
    bool real = false;
    if (text_[at_] == '0' && at_ + 2 < text_.size() && std::strchr("xXoObB", text_[at_ + 1]))
      bad("numbers are read with base 10 only");
    end = digits(end, isDigit);
    bool afterDot = !tokens_.empty() && tokens_.back().text == "." && tokens_.back().kind == Token::Operator;
    if (!afterDot && end + 1 < text_.size() && text_[end] == '.' && isDigit(text_[end + 1])) {
      real = true;
      end = digits(end + 1, isDigit);
    }
    if (!afterDot && end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      size_t exponent = end + 1;
      if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-'))
        ++exponent;
      if (exponent < text_.size() && isDigit(text_[exponent])) {
        real = true;
        end = digits(exponent, isDigit);
      }
    }
    std::string number = text_.substr(at_, end - at_);
    number.erase(std::remove(number.begin(), number.end(), '_'), number.end());
    if (!real && number.size() > 1 && number[0] == '0' && number.find_first_not_of('0') != std::string::npos)
      bad("a number begins with 0: " + number);
    add(real ? Token::Float : Token::Integer, number);
    moveTo(end);
  }

  void lexString(char quote) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote)
      end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size())
      bad("a string has no end");
    add(Token::String, unescaped(std::string_view(text_).substr(at_ + 1, end - at_ - 1)));
    moveTo(end + 1);
  }

  // Escapes as Python reads them.
  std::string unescaped(std::string_view raw) {
    std::string out;
    for (size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '\\') {
        out += raw[i];
        continue;
      }
      char c = raw[++i];
      static const char names[] = "\\'\"abfnrtv", values[] = "\\'\"\a\b\f\n\r\t\v";
      if (const char *found = std::strchr(names, c); found && c) {
        out += values[found - names];
      } else if (c == '\n') {
        // A line that goes on.
      } else if (c >= '0' && c <= '7') {
        char32_t value = 0;
        size_t end = std::min(i + 3, raw.size());
        for (; i < end && raw[i] >= '0' && raw[i] <= '7'; ++i)
          value = value * 8 + char32_t(raw[i] - '0');
        --i;
        appendCharacter(value, out);
      } else if (c == 'x' || c == 'u' || c == 'U') {
        appendHex(raw, i, c == 'x' ? 2 : c == 'u' ? 4 : 8, out);
      } else if (c == 'N') {
        bad("\\N{...} in strings is not supported");
      } else {
        out += '\\';
        --i; // what follows stands for itself
        out += raw[++i];
      }
    }
    return out;
  }
  void appendHex(std::string_view raw, size_t &i, size_t count, std::string &out) {
    uint64_t value = 0;
    for (size_t k = 0; k < count; ++k) {
      char c = i + 1 < raw.size() ? raw[i + 1] : ' ';
      int digit = isDigit(c)             ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
      if (digit < 0)
        bad("an escape in a string is cut short");
      value = value * 16 + uint64_t(digit);
      ++i;
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
      bad("an escape in a string is no character");
    appendCharacter(char32_t(value), out);
  }

  std::string text_;
  size_t at_ = 0;
  int line_ = 1;
  bool lineStarts_ = true; // what comes next is the first of its line
  std::vector<Token> tokens_;
};

} // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

} // namespace tessera::jinja
