#include "Filters.h"
#include "tessera/runtime/jinja/Characters.h"

namespace tessera::jinja {
namespace {

// Text of any value; what is markup stays so.
Value softText(Interpreter &in, const Value &value) {
  return value.isString() ? value : in.heap.text(textOf(in.heap, value));
}

Value toText(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("string", arguments, {});
  return softText(in, self);
}

template <std::string (*change)(std::string_view)>
Value changeText(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("a filter of text", arguments, {});
  Value text = softText(in, self);
  in.heap.work(4 * text.text().size());
  in.heap.require(3 * text.text().size());
  return in.heap.text(change(text.text()), text.isMarkup());
}

// Each word begins with a capital: words end at blanks and at -({[<.
std::string titleOfWords(std::string_view text) {
  std::string out;
  bool inWord = false;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    char32_t c = nextCharacter(text, at);
    bool separates = isSpace(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
    if (separates) {
      out += text.substr(begin, at - begin);
    } else if (!inWord) {
      appendUpper(c, out);
    } else {
      size_t end = at;
      appendLower(c, out);
      at = end;
    }
    inWord = !separates;
  }
  return out;
}

Value trim(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("trim", arguments, {"chars"});
  Value text = softText(in, self);
  std::string_view set = parameters.has(0) && !parameters[0].isNone() ? parameters.text(0) : "";
  bool hasSet = parameters.has(0) && !parameters[0].isNone();
  in.heap.work(text.text().size() * (1 + set.size() / 16));
  return in.heap.text(std::string(strip(text.text(), hasSet ? &set : nullptr, true, true)), text.isMarkup());
}

Value replace(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("replace", arguments, {"old", "new", "count"}, 2);
  Value plain = in.heap.text(textOf(in.heap, self));
  Arguments forwarded;
  forwarded.positional = {in.heap.text(textOf(in.heap, parameters[0])),
                          in.heap.text(textOf(in.heap, parameters[1]))};
  if (parameters.has(2) && !parameters[2].isNone())
    forwarded.positional.push_back(parameters[2]);
  return findTextMethod("replace")(in, plain, forwarded);
}

Value safe(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("safe", arguments, {});
  return in.heap.text(textOf(in.heap, self), true);
}

Value escape(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("escape", arguments, {});
  return self.isMarkup() ? self : in.heap.text(escaped(in.heap, textOf(in.heap, self)), true);
}

Value forceEscape(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("forceescape", arguments, {});
  return in.heap.text(escaped(in.heap, textOf(in.heap, self)), true);
}

// json.dumps as transformers calls it: nothing escaped beyond what JSON needs.
Value toJson(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensureAscii = parameters.flag(0, false);
  style.sortKeys = parameters.flag(3, false);
  if (parameters.has(1) && !parameters[1].isNone()) {
    style.hasIndent = true;
    style.itemSeparator = ",";
    if (parameters[1].isString()) {
      style.indent = parameters.text(1);
    } else {
      int64_t width = std::max<int64_t>(0, parameters.integer(1, 0));
      if (width > 1000)
        fail("'tojson' wants an indent of at most 1000");
      style.indent = std::string(size_t(width), ' ');
    }
  }
  if (parameters.has(2) && !parameters[2].isNone()) {
    Value parts = elements(in.heap, parameters[2]);
    const auto &items = parts.sequence().items;
    if (items.size() != 2 || !items[0].isString() || !items[1].isString())
      fail("'tojson' wants two texts as 'separators'");
    style.itemSeparator = items[0].text();
    style.keySeparator = items[1].text();
  }
  TextBuilder out(in.heap);
  appendJson(out, in.heap, self, style);
  return in.heap.text(std::move(out.text));
}

Value indent(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("indent", arguments, {"width", "first", "blank"});
  if (!self.isString())
    fail(std::string("'indent' wants text, not ") + typeName(self));
  std::string by;
  if (parameters.has(0) && parameters[0].isString()) {
    by = parameters.text(0);
  } else {
    int64_t width = std::max<int64_t>(0, parameters.integer(0, 4));
    in.heap.require(size_t(width));
    by = std::string(size_t(width), ' ');
  }
  bool first = parameters.flag(1, false), blank = parameters.flag(2, false);
  TextBuilder out(in.heap);
  if (first)
    out.append(by);
  std::string_view text = self.text();
  bool isFirst = true;
  for (size_t at = 0; at <= text.size(); isFirst = false) {
    size_t end = at, next = at;
    while (end < text.size()) { // to the end of the line
      next = end;
      char32_t c = nextCharacter(text, next);
      if (isLineBreak(c)) {
        next += c == '\r' && next < text.size() && text[next] == '\n';
        break;
      }
      end = next;
    }
    if (!isFirst) {
      out.append("\n");
      if (blank || end > at)
        out.append(by);
    }
    out.append(text.substr(at, end - at));
    if (end == text.size())
      break;
    at = next;
  }
  return in.heap.text(std::move(out.text), self.isMarkup());
}

Value center(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("center", arguments, {"width"});
  Arguments forwarded;
  forwarded.positional = {Value::integer(parameters.integer(0, 80))};
  return findTextMethod("center")(in, softText(in, self), forwarded);
}

Value truncate(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("truncate", arguments, {"length", "killwords", "end", "leeway"});
  int64_t length = parameters.integer(0, 255);
  std::string_view end = parameters.text(2, "...");
  int64_t leeway = parameters.has(3) && !parameters[3].isNone() ? parameters.integer(3, 5) : 5;
  if (self.isString())
    in.heap.work(self.text().size());
  int64_t own = countCharacters(end);
  if (length < own || leeway < 0 || leeway > INT32_MAX || length > INT32_MAX)
    fail("'truncate' wants a length of at least that of what it puts at the end");
  if (lengthOf(self) <= length + leeway)
    return self;
  if (!self.isString())
    fail(std::string("'truncate' wants text, not ") + typeName(self));
  std::string text(self.text().substr(0, characterOffset(self.text(), length - own)));
  if (!parameters.flag(1, false))
    if (size_t blank = text.rfind(' '); blank != text.npos)
      text.resize(blank);
  return in.heap.text(text + std::string(end), self.isMarkup());
}

// Runs of letters, digits and _ . Beyond ASCII every character counts as a letter but blanks.
Value wordCount(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("wordcount", arguments, {});
  std::string text = textOf(in.heap, self);
  int64_t count = 0;
  bool inWord = false;
  for (char c : text) {
    if (c & 0x80)
      fail("'wordcount' of text beyond ASCII is not supported");
    bool isWord = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    count += isWord && !inWord;
    inWord = isWord;
  }
  return Value::integer(count);
}

Value format(Interpreter &in, const Value &self, Arguments &arguments) {
  if (!arguments.named.empty() && !arguments.positional.empty())
    fail("'format' takes values by place or by name, not both");
  Value values;
  if (arguments.named.empty()) {
    values = in.heap.tuple(arguments.positional);
  } else {
    std::vector<std::pair<Value, Value>> entries;
    for (auto &[name, value] : arguments.named)
      entries.emplace_back(in.heap.text(name), value);
    values = in.heap.dict(std::move(entries));
  }
  Value text = softText(in, self);
  return in.heap.text(formatPercent(in.heap, text.text(), values), text.isMarkup());
}

const NamedBuiltin table[] = {
    {"string", toText},
    {"upper", changeText<upperText>},
    {"lower", changeText<lowerText>},
    {"capitalize", changeText<capitalized>},
    {"title", changeText<titleOfWords>},
    {"trim", trim},
    {"replace", replace},
    {"safe", safe},
    {"escape", escape},
    {"e", escape},
    {"forceescape", forceEscape},
    {"tojson", toJson},
    {"indent", indent},
    {"center", center},
    {"truncate", truncate},
    {"wordcount", wordCount},
    {"format", format},
};

} // namespace

Builtin findTextFilter(std::string_view name) { return findIn(table, name); }

} // namespace tessera::jinja
