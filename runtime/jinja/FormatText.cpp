// Python's two ways to put values into a text: "%d items" % n and "{} items".format(n).
#include "Interpreter.h"
#include "tessera/runtime/jinja/Characters.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace tessera::jinja {
namespace {

constexpr int64_t maxWidth = 1 << 20, maxPrecision = 300;

struct Field { // what one place in the text asks for
  bool left = false, center = false, plus = false, blank = false, zero = false, alternate = false,
       comma = false;
  bool hasAlignment = false, afterSign = false;
  std::string fill = " ";
  int64_t width = 0, precision = -1;
  char type = 0;
};

int64_t readCount(std::string_view text, size_t &at, int64_t most) {
  int64_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
    if ((value = value * 10 + (text[at] - '0')) > most)
      fail("a width or precision is beyond " + std::to_string(most));
  return value;
}

std::string integerDigits(uint64_t magnitude, char type) {
  unsigned base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  std::string digits;
  do
    digits.insert(digits.begin(), (type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[magnitude % base]);
  while (magnitude /= base);
  return digits;
}

std::string floatDigits(double magnitude, char type, int64_t precision, bool alternate) {
  char format[] = {'%', '#', '.', '*', type, 0}, digits[700];
  if (!alternate)
    std::copy(format + 2, format + 6, format + 1);
  std::snprintf(digits, sizeof digits, format, int(precision), magnitude);
  return digits;
}

void group(std::string &digits, size_t whole) {
  for (size_t at = whole; at > 3;)
    digits.insert(at -= 3, ",");
}

void pad(TextBuilder &out, const Field &field, std::string_view sign, std::string_view body) {
  int64_t missing = field.width - countCharacters(sign) - countCharacters(body);
  auto fill = [&](int64_t count) {
    for (; count > 0; --count)
      out.append(field.fill);
  };
  int64_t before = field.left || missing < 0 ? 0 : field.center ? missing / 2 : missing;
  if (!field.afterSign)
    fill(before);
  out.append(sign);
  if (field.afterSign)
    fill(before);
  out.append(body);
  fill(missing - before);
}

// A number as d i u x X o b e E f F g G % or (type 0) as str() has it.
void putNumber(TextBuilder &out, Field field, const Value &value) {
  bool isInteger = value.isInteger() && !std::strchr("eEfFgG%", field.type ? field.type : 'd');
  std::string digits, prefix;
  bool isNegative = false;
  size_t whole = 0;
  if (isInteger) {
    isNegative = value.integer() < 0;
    digits =
        integerDigits(isNegative ? 0 - uint64_t(value.integer()) : uint64_t(value.integer()), field.type);
    if (field.precision > int64_t(digits.size()))
      digits.insert(0, size_t(field.precision) - digits.size(), '0');
    if (field.alternate && (field.type == 'x' || field.type == 'X' || field.type == 'o' || field.type == 'b'))
      prefix = {'0', field.type};
    whole = digits.size();
  } else {
    double real = field.type == '%' ? value.real() * 100 : value.real();
    isNegative = std::signbit(real) && !std::isnan(real);
    double magnitude = isNegative ? -real : real;
    if (std::isnan(real) || std::isinf(real)) {
      digits = std::isnan(real) ? "nan" : "inf";
      if (field.type >= 'A' && field.type <= 'Z')
        digits = upperText(digits);
    } else if (field.type == 0 && field.precision < 0) {
      digits = floatText(magnitude);
    } else if (field.type == 0) {
      fail("a float with a precision and no type is not supported in a format", "use f, e or g");
    } else {
      digits = floatDigits(magnitude, field.type == '%' ? 'f' : field.type,
                           field.precision < 0 ? 6 : field.precision, field.alternate);
    }
    whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
    if (field.type == '%')
      digits += '%';
  }
  if (field.comma)
    group(digits, whole);
  std::string sign = isNegative ? "-" : field.plus ? "+" : field.blank ? " " : "";
  if (field.zero && !field.left) {
    if (field.comma)
      fail("',' and a width filled with 0 are not supported together in a format");
    field.fill = "0";
    field.afterSign = true;
  }
  pad(out, field, sign + prefix, digits);
}

std::string_view cut(std::string_view text, int64_t precision) {
  return precision < 0 ? text : text.substr(0, characterOffset(text, precision));
}

Value wholePart(const Value &value) {
  if (value.is(Kind::Float) && std::fabs(value.real()) < 9.2e18)
    return Value::integer(int64_t(value.real()));
  return value;
}

} // namespace

std::string formatPercent(Heap &heap, std::string_view format, const Value &values) {
  TextBuilder out(heap);
  bool isTuple = values.is(Kind::Sequence) && values.sequence().flavor == Flavor::Tuple;
  size_t next = 0, count = isTuple ? values.sequence().items.size() : 1;
  bool byName = false;
  auto take = [&]() -> Value {
    if (next >= count)
      fail("a format wants more values than it is given");
    ++next;
    return isTuple ? values.sequence().items[next - 1] : values;
  };
  for (size_t at = 0; at < format.size();) {
    size_t percent = std::min(format.find('%', at), format.size());
    out.append(format.substr(at, percent - at));
    at = percent + 1;
    if (percent == format.size())
      break;
    Field field;
    Value value;
    bool hasValue = false;
    if (at < format.size() && format[at] == '(') {
      size_t close = format.find(')', at);
      if (close == format.npos || !values.is(Kind::Dict))
        fail("a format names values and is given none by name");
      const Value *found = values.dict().find(format.substr(at + 1, close - at - 1));
      if (!found)
        fail("a format names a value that it is not given");
      value = *found;
      hasValue = byName = true;
      at = close + 1;
    }
    for (; at < format.size() && std::strchr("-+ 0#", format[at]) && format[at]; ++at) {
      field.left |= format[at] == '-';
      field.plus |= format[at] == '+';
      field.blank |= format[at] == ' ';
      field.zero |= format[at] == '0';
      field.alternate |= format[at] == '#';
    }
    field.width = readCount(format, at, maxWidth);
    if (at < format.size() && format[at] == '.')
      field.precision = readCount(format, ++at, maxPrecision);
    if (at >= format.size())
      fail("a format ends within a place for a value");
    char type = format[at++];
    if (type == '%') {
      out.append("%");
      continue;
    }
    if (!hasValue)
      value = take();
    if (type == 's' || type == 'r') {
      TextBuilder text(heap);
      type == 's' ? appendText(text, value) : appendRepr(text, value);
      pad(out, field, "", cut(text.text, field.precision));
    } else if (type && std::strchr("diuxXoeEfFgG", type)) {
      bool wantsInteger = std::strchr("diuxXo", type) != nullptr;
      if (!value.isNumber() || (value.is(Kind::Float) && std::strchr("xXo", type)))
        fail(std::string("'%") + type + "' wants a number, not " + typeName(value));
      if (value.is(Kind::Float) && wantsInteger && !wholePart(value).isInteger())
        fail("an integer is beyond 64 bits");
      field.type = std::strchr("iu", type) ? 'd' : type;
      putNumber(out, field, wantsInteger ? wholePart(value) : value);
    } else {
      fail(std::string("'%") + type + "' in a format is not supported", "use %s, %d or %f");
    }
  }
  // What could be looked into by name is no value too many in Python.
  bool hasItems = values.isUndefined() || values.is(Kind::Dict) || (values.is(Kind::Sequence) && !isTuple);
  if (!byName && next < count && !hasItems)
    fail("a format is given more values than it wants");
  return std::move(out.text);
}

namespace {

Field readSpecification(std::string_view text) {
  Field field;
  size_t at = 0, first = text.empty() ? 0 : characterLength(text[0]);
  auto isAlignment = [&](size_t i) { return i < text.size() && std::strchr("<>^=", text[i]) && text[i]; };
  if (isAlignment(first) || isAlignment(0)) {
    if (isAlignment(first)) {
      field.fill = text.substr(0, first);
      at = first;
    }
    field.hasAlignment = true;
    field.left = text[at] == '<';
    field.center = text[at] == '^';
    field.afterSign = text[at] == '=';
    ++at;
  }
  auto takes = [&](char c) { return at < text.size() && text[at] == c && (++at, true); };
  field.plus = takes('+');
  if (!field.plus)
    field.blank = takes(' ');
  if (!field.plus && !field.blank)
    takes('-');
  field.alternate = takes('#');
  field.zero = takes('0') && !field.hasAlignment;
  field.width = readCount(text, at, maxWidth);
  field.comma = takes(',');
  if (takes('.'))
    field.precision = readCount(text, at, maxPrecision);
  if (at < text.size() && text[at] && std::strchr("sdxXobeEfFgG%", text[at]))
    field.type = text[at++];
  if (at != text.size())
    fail("a format asks for a form that is not supported: " + std::string(text));
  return field;
}

void putFormatted(TextBuilder &out, Heap &heap, const Value &value, std::string_view specification) {
  if (specification.empty())
    return appendText(out, value);
  Field field = readSpecification(specification);
  if (value.isNumber() && !(value.is(Kind::Bool) && field.type == 0)) {
    if (field.type == 's' || (value.is(Kind::Float) && std::strchr("dxXob", field.type ? field.type : 's')) ||
        (value.isInteger() && field.precision >= 0 && std::strchr("dxXob", field.type ? field.type : 'd')))
      fail("a number has no such form: " + std::string(specification));
    return putNumber(out, field, value);
  }
  if ((!value.isString() && !value.is(Kind::Bool)) || (field.type && field.type != 's') || field.afterSign ||
      field.comma || field.plus || field.blank || field.alternate || field.zero)
    fail(std::string(typeName(value)) + " has no such form: " + std::string(specification));
  if (value.is(Kind::Bool))
    fail("a boolean with a form is not supported in a format");
  field.left |= !field.hasAlignment;
  pad(out, field, "", cut(value.text(), field.precision));
}

// "0.name[key]"
Value fieldValue(Interpreter &in, std::string_view name, Arguments &arguments, int64_t &counter) {
  size_t end = std::min(name.find_first_of(".["), name.size());
  std::string_view first = name.substr(0, end), rest = name.substr(end);
  Value value;
  if (first.empty() || (first[0] >= '0' && first[0] <= '9')) {
    size_t at = 0;
    if (first.empty() ? counter < 0 : counter > 0)
      fail("a format counts its values in part by itself, in part not");
    int64_t place = first.empty() ? counter++ : readCount(first, at, INT32_MAX);
    counter = first.empty() ? counter : -1;
    if (at != first.size() || place >= int64_t(arguments.positional.size()))
      fail("a format wants more values than it is given");
    value = arguments.positional[size_t(place)];
  } else {
    auto found = std::find_if(arguments.named.begin(), arguments.named.end(),
                              [&](const auto &one) { return one.first == first; });
    if (found == arguments.named.end())
      fail("a format names a value that it is not given: " + std::string(first));
    value = found->second;
  }
  while (!rest.empty()) {
    bool isItem = rest[0] == '[';
    size_t stop = std::min(isItem ? rest.find(']') : rest.find_first_of(".[", 1), rest.size());
    std::string_view part = rest.substr(1, stop - 1);
    if (part.empty() || (isItem && stop == rest.size()))
      fail("a format names a value wrongly: " + std::string(name));
    size_t at = 0;
    if (!isItem)
      value = in.attribute(value, part);
    else if (part.find_first_not_of("0123456789") == part.npos)
      value = in.item(value, Value::integer(readCount(part, at, INT32_MAX)));
    else
      value = in.item(value, in.heap.text(std::string(part)));
    if (value.isUndefined())
      fail(value.whyUndefined());
    rest.remove_prefix(stop + isItem);
  }
  return value;
}

} // namespace

Value formatBraces(Interpreter &in, const Value &self, Arguments &arguments) {
  if (self.isMarkup())
    fail("'format' of text that is marked as safe is not supported");
  TextBuilder out(in.heap);
  std::string_view format = self.text();
  int64_t counter = 0;
  for (size_t at = 0; at < format.size();) {
    size_t brace = std::min(format.find_first_of("{}", at), format.size());
    out.append(format.substr(at, brace - at));
    if (brace == format.size())
      break;
    if (brace + 1 < format.size() && format[brace + 1] == format[brace]) {
      out.append(format.substr(brace, 1));
      at = brace + 2;
      continue;
    }
    size_t close = format.find_first_of("{}", brace + 1);
    if (format[brace] == '}' || close == format.npos || format[close] == '{')
      fail("a format has a single brace, or braces in braces");
    std::string_view field = format.substr(brace + 1, close - brace - 1), specification;
    at = close + 1;
    if (size_t colon = field.find(':'); colon != field.npos) {
      specification = field.substr(colon + 1);
      field = field.substr(0, colon);
    }
    char conversion = 0;
    if (size_t mark = field.find('!'); mark != field.npos) {
      if (field.size() != mark + 2 || (field[mark + 1] != 's' && field[mark + 1] != 'r'))
        fail("a format knows the conversions !s and !r only");
      conversion = field[mark + 1];
      field = field.substr(0, mark);
    }
    Value value = fieldValue(in, field, arguments, counter);
    if (conversion) {
      TextBuilder text(in.heap);
      conversion == 's' ? appendText(text, value) : appendRepr(text, value);
      value = in.heap.text(std::move(text.text));
    }
    putFormatted(out, in.heap, value, specification);
  }
  return in.heap.text(std::move(out.text));
}

} // namespace tessera::jinja
