// Values as text: str(), repr(), json.dumps().
#include "Operations.h"
#include "tessera/runtime/jinja/Characters.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tessera::jinja {

// The shortest digits that read back as `value`, with an exponent where Python's repr has one.
std::string floatText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string text(buffer, end);
  size_t e = text.find('e');
  int exponent = std::stoi(text.substr(e + 1));
  std::string sign = text[0] == '-' ? "-" : "", digits = text.substr(sign.size(), e - sign.size());
  digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
  int count = int(digits.size());
  if (exponent < -4 || exponent >= 16) {
    if (count > 1)
      digits.insert(1, ".");
    std::string power = std::to_string(std::abs(exponent));
    return sign + digits + (exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" : "") + power;
  }
  if (exponent < 0)
    return sign + "0." + std::string(size_t(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return sign + digits + std::string(size_t(exponent + 1 - count), '0') + ".0";
  return sign + digits.insert(size_t(exponent + 1), ".");
}

static void appendHex(std::string &out, char32_t value, int width) {
  for (int shift = 4 * (width - 1); shift >= 0; shift -= 4)
    out += "0123456789abcdef"[(value >> shift) & 15];
}

static void appendQuoted(TextBuilder &out, std::string_view text) {
  bool isDouble = text.find('\'') != text.npos && text.find('"') == text.npos;
  char quote = isDouble ? '"' : '\'';
  std::string quoted(1, quote);
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    char32_t c = nextCharacter(text, at);
    if (c == char32_t(quote) || c == '\\')
      (quoted += '\\') += char(c);
    else if (c == '\n' || c == '\r' || c == '\t')
      quoted += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    else if (isPrintable(c))
      quoted += text.substr(begin, at - begin);
    else
      appendHex(quoted += c < 0x100     ? "\\x"
                          : c < 0x10000 ? "\\u"
                                        : "\\U",
                c,
                c < 0x100     ? 2
                : c < 0x10000 ? 4
                              : 8);
    if (quoted.size() > 4096) {
      out.append(quoted);
      quoted.clear();
    }
  }
  out.append(quoted += quote);
}

void appendRepr(TextBuilder &out, const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
    return out.append("Undefined");
  case Kind::None:
    return out.append("None");
  case Kind::Bool:
    return out.append(value.integer() ? "True" : "False");
  case Kind::Int:
    return out.append(std::to_string(value.integer()));
  case Kind::Float:
    return out.append(floatText(value.real()));
  case Kind::String:
    if (value.isMarkup())
      out.append("Markup(");
    appendQuoted(out, value.text());
    if (value.isMarkup())
      out.append(")");
    return;
  case Kind::Sequence: {
    const Sequence &sequence = value.sequence();
    if (sequence.flavor == Flavor::Range)
      fail("the text of a range is not supported", "use '|list'");
    static const char *const opening[] = {"[", "(", "dict_keys([", "dict_values([", "dict_items(["};
    static const char *const closing[] = {"]", ")", "])", "])", "])"};
    out.append(opening[int(sequence.flavor)]);
    for (size_t i = 0; i < sequence.items.size(); ++i) {
      if (i)
        out.append(", ");
      appendRepr(out, sequence.items[i]);
    }
    if (sequence.flavor == Flavor::Tuple && sequence.items.size() == 1)
      out.append(",");
    return out.append(closing[int(sequence.flavor)]);
  }
  case Kind::Dict: {
    out.append("{");
    bool first = true;
    for (const auto &[key, item] : value.dict().entries) {
      if (!std::exchange(first, false))
        out.append(", ");
      appendRepr(out, key);
      out.append(": ");
      appendRepr(out, item);
    }
    return out.append("}");
  }
  default:
    fail(std::string("the text of ") + typeName(value) + " would be an address in Python",
         value.is(Kind::Iterator) ? "use '|list' first" : "");
  }
}

void appendText(TextBuilder &out, const Value &value) {
  if (value.isString())
    out.append(value.text());
  else if (!value.isUndefined())
    appendRepr(out, value);
}

std::string textOf(Heap &heap, const Value &value) {
  TextBuilder out(heap);
  appendText(out, value);
  return std::move(out.text);
}

std::string escaped(Heap &heap, std::string_view text) {
  TextBuilder out(heap);
  for (size_t at = 0; at < text.size();) {
    size_t special = std::min(text.find_first_of("&<>'\"", at), text.size());
    out.append(text.substr(at, special - at));
    at = special + 1;
    if (special < text.size()) {
      char c = text[special];
      out.append(c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '\'' ? "&#39;" : "&#34;");
    }
  }
  return std::move(out.text);
}

static void appendJsonString(TextBuilder &out, std::string_view text, bool ensureAscii) {
  out.append("\"");
  std::string part;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    char32_t c = nextCharacter(text, at);
    if (c == '"' || c == '\\') {
      (part += '\\') += char(c);
    } else if (c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == '\b') {
      part += c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : c == '\f' ? "\\f" : "\\b";
    } else if (c < 0x20 || (ensureAscii && c > 0x7E && c < 0x10000)) {
      appendHex(part += "\\u", c, 4);
    } else if (ensureAscii && c >= 0x10000) {
      appendHex(part += "\\u", 0xD800 + ((c - 0x10000) >> 10), 4);
      appendHex(part += "\\u", 0xDC00 + ((c - 0x10000) & 0x3FF), 4);
    } else {
      part += text.substr(begin, at - begin);
    }
    if (part.size() > 4096) {
      out.append(part);
      part.clear();
    }
  }
  out.append(part += '"');
}

static std::string jsonNumber(const Value &value) {
  if (value.isInteger())
    return std::to_string(value.integer());
  double number = value.real();
  return std::isnan(number)   ? "NaN"
         : std::isinf(number) ? (number < 0 ? "-Infinity" : "Infinity")
                              : floatText(number);
}

static void appendLine(TextBuilder &out, const JsonStyle &style, int level) {
  if (!style.hasIndent)
    return;
  out.append("\n");
  for (int i = 0; i < level; ++i)
    out.append(style.indent);
}

void appendJson(TextBuilder &out, Heap &heap, const Value &value, const JsonStyle &style, int level) {
  switch (value.kind()) {
  case Kind::None:
    return out.append("null");
  case Kind::Bool:
    return out.append(value.integer() ? "true" : "false");
  case Kind::Int:
  case Kind::Float:
    return out.append(jsonNumber(value));
  case Kind::String:
    return appendJsonString(out, value.text(), style.ensureAscii);
  case Kind::Sequence: {
    const Sequence &sequence = value.sequence();
    if (sequence.flavor > Flavor::Tuple)
      break;
    if (sequence.items.empty())
      return out.append("[]");
    out.append("[");
    for (size_t i = 0; i < sequence.items.size(); ++i) {
      if (i)
        out.append(style.itemSeparator);
      appendLine(out, style, level + 1);
      appendJson(out, heap, sequence.items[i], style, level + 1);
    }
    appendLine(out, style, level);
    return out.append("]");
  }
  case Kind::Dict: {
    std::vector<const std::pair<Value, Value> *> entries;
    for (const auto &entry : value.dict().entries)
      entries.push_back(&entry);
    if (style.sortKeys)
      sortStably(entries, [&](auto *a, auto *b) { return less(heap, a->first, b->first); });
    if (entries.empty())
      return out.append("{}");
    out.append("{");
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i)
        out.append(style.itemSeparator);
      appendLine(out, style, level + 1);
      const Value &key = entries[i]->first;
      if (key.isString())
        appendJsonString(out, key.text(), style.ensureAscii);
      else if (key.isNone())
        out.append("\"null\"");
      else if (key.is(Kind::Bool))
        out.append(key.integer() ? "\"true\"" : "\"false\"");
      else
        out.append("\"" + jsonNumber(key) + "\"");
      out.append(style.keySeparator);
      appendJson(out, heap, entries[i]->second, style, level + 1);
    }
    appendLine(out, style, level);
    return out.append("}");
  }
  default:
    break;
  }
  if (value.isUndefined())
    fail(value.whyUndefined(), "give it, or test it with 'is defined'");
  fail(std::string(typeName(value)) + " cannot be written as JSON", "use '|list' first");
}

} // namespace tessera::jinja
