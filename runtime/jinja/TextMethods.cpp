// Methods of text: Python's str.
#include "Interpreter.h"
#include "tessera/runtime/jinja/Characters.h"

#include <algorithm>

namespace tessera::jinja {

// "{} items".format(...), in FormatText.cpp.
Value formatBraces(Interpreter &in, const Value &self, Arguments &arguments);

namespace {

Value same(Interpreter &in, const Value &self, std::string text) {
  return in.heap.text(std::move(text), self.isMarkup());
}

template <std::string (*change)(std::string_view)>
Value changed(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("a method of text", arguments, {});
  in.heap.work(4 * self.text().size());
  in.heap.require(3 * self.text().size());
  return same(in, self, change(self.text()));
}
std::string swapped(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    std::string own, upper;
    char32_t c = nextCharacter(text, at);
    appendCharacter(c, own);
    appendUpper(c, upper);
    if (own == upper)
      appendLower(c, out);
    else
      out += upper;
  }
  return out;
}

template <bool left, bool right> Value stripped(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("strip", arguments, {"chars"});
  bool hasSet = parameters.has(0) && !parameters[0].isNone();
  std::string_view set = hasSet ? parameters.text(0) : "";
  in.heap.work(self.text().size() * (1 + set.size() / 16));
  return same(in, self, std::string(strip(self.text(), hasSet ? &set : nullptr, left, right)));
}

// The part of the text that begin and end, arguments `from` and from + 1, leave.
std::string_view window(Interpreter &in, const Value &self, const Parameters &parameters, size_t from,
                        int64_t *begin = nullptr) {
  std::string_view text = self.text();
  in.heap.work(text.size());
  int64_t length = countCharacters(text);
  auto bound = [&](size_t i, int64_t otherwise) {
    if (!parameters.has(i) || parameters[i].isNone())
      return otherwise;
    int64_t at = parameters.integer(i, 0);
    return std::clamp<int64_t>(at < 0 ? at + length : at, 0, length + 1);
  };
  int64_t first = bound(from, 0), last = std::min(bound(from + 1, length), length);
  if (begin)
    *begin = first;
  if (first > last)
    return std::string_view(nullptr, 0); // holds nothing, not even the empty text
  size_t low = characterOffset(text, first), high = characterOffset(text, last);
  return text.substr(low, high - low);
}

template <bool atEnd> Value hasAffix(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters(atEnd ? "endswith" : "startswith", arguments, {"prefix", "start", "end"}, 1);
  std::string_view text = window(in, self, parameters, 1);
  auto fits = [&](std::string_view affix) {
    return text.data() && affix.size() <= text.size() &&
           (atEnd ? text.substr(text.size() - affix.size()) : text.substr(0, affix.size())) == affix;
  };
  if (!parameters[0].is(Kind::Sequence) || parameters[0].sequence().flavor != Flavor::Tuple)
    return Value::boolean(fits(parameters.text(0)));
  for (const Value &affix : parameters[0].sequence().items) {
    if (!affix.isString())
      fail("'startswith' and 'endswith' want text or a tuple of texts");
    if (fits(affix.text()))
      return Value::boolean(true);
  }
  return Value::boolean(false);
}

// Where `part` stands, counted in characters; -1 if nowhere.
template <bool fromRight, bool mustBe> Value found(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters(mustBe ? "index" : "find", arguments, {"sub", "start", "end"}, 1);
  int64_t begin = 0;
  std::string_view text = window(in, self, parameters, 1, &begin), part = parameters.text(0);
  in.heap.work(text.size() * (1 + part.size() / 64));
  size_t at = !text.data() ? text.npos : fromRight ? text.rfind(part) : text.find(part);
  if (at == text.npos && mustBe)
    fail("a text is not found in another");
  return Value::integer(at == text.npos ? -1 : begin + countCharacters(text.substr(0, at)));
}

Value counted(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("count", arguments, {"sub", "start", "end"}, 1);
  std::string_view text = window(in, self, parameters, 1), part = parameters.text(0);
  in.heap.work(text.size() * (1 + part.size() / 64));
  if (!text.data())
    return Value::integer(0);
  if (part.empty())
    return Value::integer(countCharacters(text) + 1);
  int64_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size())
    ++count;
  return Value::integer(count);
}

Value replaced(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("replace", arguments, {"old", "new", "count"}, 2);
  std::string_view text = self.text(), from = parameters.text(0);
  std::string to(parameters.text(1));
  if (self.isMarkup() && !parameters[1].isMarkup())
    to = escaped(in.heap, to);
  int64_t left = parameters.integer(2, -1);
  in.heap.work(text.size() * (1 + from.size() / 64));
  TextBuilder out(in.heap);
  size_t at = 0;
  if (from.empty()) { // between all characters, and around them
    for (; left != 0; --left) {
      out.append(to);
      if (at == text.size())
        break;
      size_t length = characterLength(text[at]);
      out.append(text.substr(at, length));
      at += length;
    }
  } else {
    for (size_t next; left != 0 && (next = text.find(from, at)) != text.npos; --left) {
      out.append(text.substr(at, next - at));
      out.append(to);
      at = next + from.size();
    }
  }
  out.append(text.substr(at));
  return same(in, self, std::move(out.text));
}

// At blanks, runs of them as one.
std::vector<std::string_view> wordsOf(std::string_view text, int64_t most, bool fromRight) {
  std::vector<std::string_view> words;
  auto spaceAt = [&](size_t at) { return isSpace(nextCharacter(text, at)); };
  auto before = [&](size_t at) {
    do
      --at;
    while ((text[at] & 0xC0) == 0x80);
    return at;
  };
  text = strip(text, nullptr, true, true);
  while (!text.empty()) {
    if (most >= 0 && int64_t(words.size()) == most) {
      words.push_back(text);
      break;
    }
    if (!fromRight) {
      size_t end = 0;
      while (end < text.size() && !spaceAt(end))
        end += characterLength(text[end]);
      words.push_back(text.substr(0, end));
      text = strip(text.substr(end), nullptr, true, false);
    } else {
      size_t begin = text.size();
      while (begin > 0 && !spaceAt(before(begin)))
        begin = before(begin);
      words.push_back(text.substr(begin));
      text = strip(text.substr(0, begin), nullptr, false, true);
    }
  }
  if (fromRight)
    std::reverse(words.begin(), words.end());
  return words;
}

template <bool fromRight> Value split(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("split", arguments, {"sep", "maxsplit"});
  std::string_view text = self.text();
  int64_t most = parameters.integer(1, -1);
  in.heap.work(2 * text.size());
  std::vector<std::string_view> parts;
  if (!parameters.has(0) || parameters[0].isNone()) {
    in.heap.require(text.size() * 8);
    parts = wordsOf(text, most, fromRight);
  } else {
    std::string_view by = parameters.text(0);
    if (by.empty())
      fail("text cannot be split at the empty text");
    in.heap.work(text.size() * (1 + by.size() / 64));
    in.heap.require(text.size() / by.size() * sizeof(Value));
    while (most < 0 || int64_t(parts.size()) < most) {
      size_t at = fromRight ? text.rfind(by) : text.find(by);
      if (at == text.npos)
        break;
      parts.push_back(fromRight ? text.substr(at + by.size()) : text.substr(0, at));
      text = fromRight ? text.substr(0, at) : text.substr(at + by.size());
    }
    parts.push_back(text);
    if (fromRight)
      std::reverse(parts.begin(), parts.end());
  }
  std::vector<Value> made;
  for (std::string_view part : parts)
    made.push_back(same(in, self, std::string(part)));
  return in.heap.sequence(std::move(made));
}

template <bool fromRight> Value partition(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("partition", arguments, {"sep"}, 1);
  std::string_view text = self.text(), by = parameters.text(0);
  if (by.empty())
    fail("text cannot be split at the empty text");
  in.heap.work(text.size() * (1 + by.size() / 64));
  size_t at = fromRight ? text.rfind(by) : text.find(by);
  std::string parts[3];
  if (at == text.npos) {
    parts[fromRight ? 2 : 0] = text;
  } else {
    parts[0] = text.substr(0, at);
    parts[1] = by;
    parts[2] = text.substr(at + by.size());
  }
  std::vector<Value> made;
  for (std::string &part : parts)
    made.push_back(same(in, self, std::move(part)));
  return in.heap.tuple(std::move(made));
}

Value splitLines(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("splitlines", arguments, {"keepends"});
  std::string_view text = self.text();
  in.heap.work(text.size());
  std::vector<Value> lines;
  for (size_t begin = 0, at = 0; at < text.size();) {
    size_t end = at;
    char32_t c = nextCharacter(text, at);
    bool isEnd = isLineBreak(c);
    if (c == '\r' && at < text.size() && text[at] == '\n')
      ++at;
    if (!isEnd && at < text.size())
      continue;
    size_t stop = !isEnd || parameters.flag(0, false) ? at : end;
    lines.push_back(same(in, self, std::string(text.substr(begin, stop - begin))));
    begin = at;
  }
  return in.heap.sequence(std::move(lines));
}

Value joined(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("join", arguments, {"iterable"}, 1);
  Value all = elements(in.heap, parameters[0]);
  TextBuilder out(in.heap);
  bool first = true;
  for (const Value &one : all.sequence().items) {
    if (!one.isString())
      fail(std::string("'join' wants texts, not ") + typeName(one), "use the filter '|join'");
    if (!std::exchange(first, false))
      out.append(self.text());
    out.append(self.isMarkup() && !one.isMarkup() ? escaped(in.heap, one.text()) : one.text());
  }
  return same(in, self, std::move(out.text));
}

template <bool atEnd> Value withoutAffix(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters(atEnd ? "removesuffix" : "removeprefix", arguments, {"affix"}, 1);
  std::string_view text = self.text(), affix = parameters.text(0);
  if (affix.size() <= text.size() && !affix.empty()) {
    if (atEnd && text.substr(text.size() - affix.size()) == affix)
      text.remove_suffix(affix.size());
    else if (!atEnd && text.substr(0, affix.size()) == affix)
      text.remove_prefix(affix.size());
  }
  return same(in, self, std::string(text));
}

// ljust (0), center (1), rjust (2)
template <int how> Value justified(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("center", arguments, {"width", "fillchar"}, 1);
  std::string_view fill = parameters.text(1, " ");
  if (countCharacters(fill) != 1)
    fail("what fills a text up is one character");
  int64_t width = parameters.integer(0, 0), length = lengthOf(self),
          missing = std::max<int64_t>(0, width - length);
  in.heap.require(size_t(std::min<int64_t>(missing, INT32_MAX)) * fill.size());
  if (missing > INT32_MAX)
    fail("a text would be too wide");
  in.heap.work(size_t(missing));
  int64_t left = how == 0 ? 0 : how == 2 ? missing : missing / 2 + (missing & width & 1);
  std::string out;
  for (int64_t i = 0; i < left; ++i)
    out += fill;
  out += self.text();
  for (int64_t i = left; i < missing; ++i)
    out += fill;
  return same(in, self, std::move(out));
}

Value zeroFilled(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("zfill", arguments, {"width"}, 1);
  int64_t missing = std::max<int64_t>(0, parameters.integer(0, 0) - lengthOf(self));
  in.heap.require(size_t(missing));
  std::string out(self.text());
  bool hasSign = !out.empty() && (out[0] == '-' || out[0] == '+');
  out.insert(hasSign, size_t(missing), '0');
  return same(in, self, std::move(out));
}

enum class Class { Digit, Letter, Either };
template <Class wanted> Value isAll(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("a method of text", arguments, {});
  in.heap.work(self.text().size());
  bool all = !self.text().empty();
  for (char c : self.text()) {
    if (c & 0x80)
      fail("'isalpha' and its like are not supported for text beyond ASCII");
    bool isDigit = c >= '0' && c <= '9', isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    all &= (wanted != Class::Letter && isDigit) || (wanted != Class::Digit && isLetter);
  }
  return Value::boolean(all);
}
Value isAllSpace(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("isspace", arguments, {});
  in.heap.work(self.text().size());
  return Value::boolean(!self.text().empty() && strip(self.text(), nullptr, true, false).empty());
}
Value isLowerCase(Interpreter &in, const Value &self, Arguments &arguments) {
  return Value::boolean(in.test("lower", self, arguments));
}
Value isUpperCase(Interpreter &in, const Value &self, Arguments &arguments) {
  return Value::boolean(in.test("upper", self, arguments));
}

template <int> Value unsupported(Interpreter &, const Value &, Arguments &) {
  fail("this method of text is not supported", "docs/ChatTemplates.md lists those that are");
}

const NamedBuiltin table[] = {
    {"strip", stripped<true, true>},
    {"lstrip", stripped<true, false>},
    {"rstrip", stripped<false, true>},
    {"startswith", hasAffix<false>},
    {"endswith", hasAffix<true>},
    {"split", split<false>},
    {"rsplit", split<true>},
    {"splitlines", splitLines},
    {"partition", partition<false>},
    {"rpartition", partition<true>},
    {"replace", replaced},
    {"join", joined},
    {"find", found<false, false>},
    {"rfind", found<true, false>},
    {"index", found<false, true>},
    {"rindex", found<true, true>},
    {"count", counted},
    {"upper", changed<upperText>},
    {"lower", changed<lowerText>},
    {"title", changed<titled>},
    {"capitalize", changed<capitalized>},
    {"swapcase", changed<swapped>},
    {"removeprefix", withoutAffix<false>},
    {"removesuffix", withoutAffix<true>},
    {"ljust", justified<0>},
    {"center", justified<1>},
    {"rjust", justified<2>},
    {"zfill", zeroFilled},
    {"format", formatBraces},
    {"isdigit", isAll<Class::Digit>},
    {"isdecimal", isAll<Class::Digit>},
    {"isnumeric", isAll<Class::Digit>},
    {"isalpha", isAll<Class::Letter>},
    {"isalnum", isAll<Class::Either>},
    {"isspace", isAllSpace},
    {"islower", isLowerCase},
    {"isupper", isUpperCase},
    {"casefold", unsupported<0>},
    {"encode", unsupported<0>},
    {"expandtabs", unsupported<0>},
    {"format_map", unsupported<0>},
    {"isascii", unsupported<0>},
    {"isidentifier", unsupported<0>},
    {"isprintable", unsupported<0>},
    {"istitle", unsupported<0>},
    {"maketrans", unsupported<0>},
    {"translate", unsupported<0>},
};

} // namespace

Builtin findTextMethod(std::string_view name) { return findIn(table, name); }

} // namespace tessera::jinja
