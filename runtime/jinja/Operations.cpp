#include "Operations.h"

#include "tessera/runtime/jinja/Characters.h"

#include <algorithm>
#include <cmath>

namespace tessera::jinja {

const char *typeName(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
    return "an undefined value";
  case Kind::None:
    return "none";
  case Kind::Bool:
    return "a boolean";
  case Kind::Int:
    return "an integer";
  case Kind::Float:
    return "a float";
  case Kind::String:
    return "text";
  case Kind::Sequence:
    return value.sequence().flavor == Flavor::Tuple ? "a tuple" : "a list";
  case Kind::Iterator:
    return "an iterator";
  case Kind::Dict:
    return "a dictionary";
  case Kind::Namespace:
    return "a namespace";
  case Kind::Function:
    return "a function";
  case Kind::Loop:
    return "a loop";
  }
  return "";
}

// An undefined value says which one it is.
[[noreturn]] static void refuse(const Value &value, const std::string &why) {
  if (value.isUndefined())
    fail(value.whyUndefined(), "give it, or test it with 'is defined'");
  fail(std::string(typeName(value)) + " " + why);
}

bool isTrue(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Bool:
  case Kind::Int:
    return value.integer() != 0;
  case Kind::Float:
    return value.real() != 0;
  case Kind::String:
    return !value.text().empty();
  case Kind::Sequence:
    return !value.sequence().items.empty();
  case Kind::Dict:
    return !value.dict().entries.empty();
  default:
    return true;
  }
}

static bool isSameFlavor(Flavor left, Flavor right) {
  auto family = [](Flavor flavor) { return flavor == Flavor::Keys ? Flavor::Items : flavor; };
  return family(left) == family(right);
}

// The comparison of an integer with a float is exact in Python.
static int compareNumbers(const Value &left, const Value &right) {
  if (left.isInteger() && right.isInteger())
    return left.integer() < right.integer() ? -1 : left.integer() > right.integer();
  long double a = left.isInteger() ? static_cast<long double>(left.integer()) : left.real();
  long double b = right.isInteger() ? static_cast<long double>(right.integer()) : right.real();
  return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2; // 2: not a number
}

bool equal(Heap &heap, const Value &left, const Value &right) {
  heap.step();
  if (left.isNumber() && right.isNumber())
    return compareNumbers(left, right) == 0;
  if (left.kind() != right.kind())
    return false;
  switch (left.kind()) {
  case Kind::Undefined:
  case Kind::None:
    return true;
  case Kind::String:
    heap.work(std::min(left.text().size(), right.text().size()));
    return left.text() == right.text();
  case Kind::Sequence: {
    const Sequence &a = left.sequence(), &b = right.sequence();
    if (!isSameFlavor(a.flavor, b.flavor) || a.items.size() != b.items.size() || a.flavor == Flavor::Values)
      return &a == &b;
    for (size_t i = 0; i < a.items.size(); ++i)
      if (!equal(heap, a.items[i], b.items[i]))
        return false;
    return true;
  }
  case Kind::Dict: {
    const Dict &a = left.dict(), &b = right.dict();
    if (a.entries.size() != b.entries.size())
      return false;
    for (const auto &[key, value] : a.entries) {
      const Value *other = b.find(key);
      if (!other || !equal(heap, value, *other))
        return false;
    }
    return true;
  }
  default:
    return left.identity() == right.identity();
  }
}

bool less(Heap &heap, const Value &left, const Value &right) {
  heap.step();
  if (left.isNumber() && right.isNumber())
    return compareNumbers(left, right) == -1;
  if (left.isString() && right.isString()) {
    heap.work(std::min(left.text().size(), right.text().size()));
    return left.text() < right.text(); // the order of UTF-8 is that of its characters
  }
  if (left.is(Kind::Sequence) && right.is(Kind::Sequence) && left.sequence().flavor <= Flavor::Tuple &&
      left.sequence().flavor == right.sequence().flavor) {
    const auto &a = left.sequence().items, &b = right.sequence().items;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (!equal(heap, a[i], b[i]))
        return less(heap, a[i], b[i]);
    return a.size() < b.size();
  }
  refuse(left.isUndefined() || !right.isUndefined() ? left : right,
         std::string("has no order with ") + typeName(right));
}

bool contains(Heap &heap, const Value &container, const Value &item) {
  switch (container.kind()) {
  case Kind::String:
    if (!item.isString())
      refuse(item, "cannot be in text");
    heap.work(container.text().size() * (1 + item.text().size() / 64));
    return container.text().find(item.text()) != std::string_view::npos;
  case Kind::Dict:
    heap.step();
    if (keyText(item).empty() && !item.isUndefined())
      refuse(item, "cannot be the key of a dictionary");
    return container.dict().find(item) != nullptr;
  case Kind::Sequence:
  case Kind::Iterator:
  case Kind::Undefined: {
    Value all = elements(heap, container);
    for (const Value &one : all.sequence().items)
      if (equal(heap, one, item))
        return true;
    return false;
  }
  default:
    refuse(container, "holds no elements");
  }
}

bool isIterable(const Value &value) {
  return value.isUndefined() || value.isString() || value.is(Kind::Sequence) || value.is(Kind::Iterator) ||
         value.is(Kind::Dict);
}

int64_t lengthOf(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
    return 0;
  case Kind::String:
    return countCharacters(value.text());
  case Kind::Sequence:
    return int64_t(value.sequence().items.size());
  case Kind::Dict:
    return int64_t(value.dict().entries.size());
  case Kind::Loop:
    return int64_t(value.loop().items.sequence().items.size());
  default:
    refuse(value, "has no length");
  }
}

Value elements(Heap &heap, const Value &value) {
  heap.step();
  std::vector<Value> items;
  switch (value.kind()) {
  case Kind::Sequence:
    return value;
  case Kind::Undefined:
    break;
  case Kind::Dict:
    for (const auto &[key, item] : value.dict().entries)
      items.push_back(key);
    break;
  case Kind::String: {
    std::string_view text = value.text();
    for (size_t at = 0; at < text.size(); at += characterLength(text[at]))
      items.push_back(heap.text(std::string(text.substr(at, characterLength(text[at])))));
    break;
  }
  case Kind::Iterator: {
    Iterator &iterator = value.iterator();
    if (iterator.error)
      throw TemplateError(*iterator.error);
    const auto &all = iterator.items.sequence().items;
    size_t from = std::exchange(iterator.next, all.size());
    if (from == 0)
      return iterator.items;
    items.assign(all.begin() + long(from), all.end());
    break;
  }
  default:
    refuse(value, "cannot be iterated over");
  }
  return heap.sequence(std::move(items));
}

static Value integerResult(bool overflows, int64_t value) {
  if (overflows)
    fail("an integer would be beyond 64 bits");
  return Value::integer(value);
}

static Value arithmetic(std::string_view operation, const Value &left, const Value &right) {
  char kind = operation == "//" ? 'd' : operation == "**" ? 'p' : operation[0];
  bool byZero = right.isInteger() ? right.integer() == 0 : right.real() == 0;
  if ((kind == '/' || kind == 'd' || kind == '%') && byZero)
    fail("a division by zero");
  if (left.isInteger() && right.isInteger() && kind != '/') {
    int64_t a = left.integer(), b = right.integer(), result = 0;
    switch (kind) {
    case '+':
      return integerResult(__builtin_add_overflow(a, b, &result), result);
    case '-':
      return integerResult(__builtin_sub_overflow(a, b, &result), result);
    case '*':
      return integerResult(__builtin_mul_overflow(a, b, &result), result);
    case 'd':
    case '%': {
      if (b == -1) // the least integer has no opposite
        return kind == '%' ? Value::integer(0)
                           : integerResult(__builtin_sub_overflow(int64_t(0), a, &result), result);
      int64_t quotient = a / b, rest = a % b;
      if (rest != 0 && (rest < 0) != (b < 0))
        --quotient, rest += b;
      return Value::integer(kind == 'd' ? quotient : rest);
    }
    default: {
      if (b < 0) {
        if (a == 0)
          fail("a division by zero");
        return Value::real(std::pow(double(a), double(b)));
      }
      result = 1;
      for (bool overflows = false; b > 0; b >>= 1) {
        if (b & 1)
          overflows |= __builtin_mul_overflow(result, a, &result);
        if (b > 1 && __builtin_mul_overflow(a, a, &a))
          overflows = true;
        if (overflows)
          integerResult(true, 0);
      }
      return Value::integer(result);
    }
    }
  }
  double a = left.real(), b = right.real();
  switch (kind) {
  case '+':
    return Value::real(a + b);
  case '-':
    return Value::real(a - b);
  case '*':
    return Value::real(a * b);
  case '/':
    return Value::real(a / b);
  case 'd':
  case '%': {
    double rest = std::fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0))
      rest += b, quotient -= 1;
    if (kind == '%')
      return Value::real(rest != 0 ? rest : std::copysign(0.0, b));
    double whole = std::floor(quotient);
    return Value::real(quotient - whole > 0.5 ? whole + 1 : whole);
  }
  default: {
    if (a == 0 && b < 0)
      fail("a division by zero");
    if (a < 0 && b != std::floor(b))
      fail("a power would be a complex number");
    double power = std::pow(a, b);
    if (std::isinf(power) && !std::isinf(a) && !std::isinf(b))
      fail("a power is too large for a float");
    return Value::real(power);
  }
  }
}

static Value repeated(Heap &heap, const Value &value, int64_t count) {
  uint64_t times = count > 0 ? uint64_t(count) : 0;
  auto hold = [&](size_t bytes) {
    if (bytes && times > heap.limits.maxValueBytes / bytes)
      fail("its values take more than " + std::to_string(heap.limits.maxValueBytes) + " bytes");
    heap.require(bytes * times);
    heap.work(bytes * times);
  };
  if (value.isString()) {
    hold(value.text().size());
    std::string text;
    for (uint64_t i = 0; i < times && !value.text().empty(); ++i)
      text += value.text();
    return heap.text(std::move(text), value.isMarkup());
  }
  const Sequence &sequence = value.sequence();
  hold(sequence.items.size() * sizeof(Value));
  std::vector<Value> items;
  for (uint64_t i = 0; i < times && !sequence.items.empty(); ++i)
    items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  return heap.sequence(std::move(items), sequence.flavor);
}

static bool isListOrTuple(const Value &value) {
  return value.is(Kind::Sequence) && value.sequence().flavor <= Flavor::Tuple;
}

Value binary(Heap &heap, std::string_view operation, const Value &left, const Value &right) {
  heap.step();
  if (operation == "%" && left.isString())
    return heap.text(formatPercent(heap, left.text(), right), left.isMarkup());
  if (left.isNumber() && right.isNumber())
    return arithmetic(operation, left, right);
  if (operation == "+" && left.isString() && right.isString()) {
    TextBuilder text(heap);
    bool markup = left.isMarkup() || right.isMarkup(); // what is not markup is escaped beside it
    text.append(markup && !left.isMarkup() ? escaped(heap, left.text()) : left.text());
    text.append(markup && !right.isMarkup() ? escaped(heap, right.text()) : right.text());
    return heap.text(std::move(text.text), markup);
  }
  if (operation == "+" && isListOrTuple(left) && isListOrTuple(right) &&
      left.sequence().flavor == right.sequence().flavor) {
    heap.require((left.sequence().items.size() + right.sequence().items.size()) * sizeof(Value));
    std::vector<Value> items = left.sequence().items;
    items.insert(items.end(), right.sequence().items.begin(), right.sequence().items.end());
    return heap.sequence(std::move(items), left.sequence().flavor);
  }
  if (operation == "*" && right.isInteger() && (left.isString() || isListOrTuple(left)))
    return repeated(heap, left, right.integer());
  if (operation == "*" && left.isInteger() && (right.isString() || isListOrTuple(right)))
    return repeated(heap, right, left.integer());
  for (const Value *one : {&left, &right})
    if (one->isUndefined())
      refuse(*one, "");
  fail("'" + std::string(operation) + "' does not go with " + typeName(left) + " and " + typeName(right),
       operation == "+" ? "use '~', which makes text of both" : "");
}

Value negative(const Value &value) {
  int64_t result = 0;
  if (value.isInteger())
    return integerResult(__builtin_sub_overflow(int64_t(0), value.integer(), &result), result);
  if (!value.isNumber())
    refuse(value, "has no sign");
  return Value::real(-value.real());
}

int64_t placeOf(int64_t index, int64_t length) {
  if (index < 0)
    index += length;
  return index >= 0 && index < length ? index : -1;
}

Value slice(Heap &heap, const Value &value, const Value &begin, const Value &end, const Value &step) {
  if (!value.isString() && !value.is(Kind::Sequence))
    refuse(value, "cannot be sliced");
  for (const Value *part : {&begin, &end, &step})
    if (!part->isNone() && !part->isInteger())
      refuse(*part, "is no bound of a slice");
  int64_t by = step.isNone() ? 1 : step.integer();
  if (by == 0)
    fail("the step of a slice is 0");
  std::vector<size_t> starts;
  std::string_view text;
  if (value.isString()) {
    text = value.text();
    heap.work(text.size());
    heap.require(text.size() * sizeof(size_t));
    starts = characterStarts(text);
  }
  int64_t length = value.isString() ? int64_t(starts.size()) - 1 : lengthOf(value);
  int64_t low = by > 0 ? 0 : -1, high = by > 0 ? length : length - 1;
  auto bound = [&](const Value &part, int64_t otherwise) {
    if (part.isNone())
      return otherwise;
    int64_t at = part.integer();
    return std::clamp(at < 0 ? at + length : at, low, high);
  };
  int64_t from = bound(begin, by > 0 ? low : high), to = bound(end, by > 0 ? high : low);
  std::vector<Value> items;
  std::string part;
  for (int64_t at = from; by > 0 ? at < to : at > to;) {
    heap.step();
    if (value.isString())
      part += text.substr(starts[size_t(at)], starts[size_t(at) + 1] - starts[size_t(at)]);
    else
      items.push_back(value.sequence().items[size_t(at)]);
    if (__builtin_add_overflow(at, by, &at))
      break;
  }
  if (value.isString())
    return heap.text(std::move(part), value.isMarkup());
  if (value.sequence().flavor > Flavor::Tuple && value.sequence().flavor != Flavor::Range)
    refuse(value, "of a dictionary's parts cannot be sliced");
  return heap.sequence(std::move(items), value.sequence().flavor);
}

Value reversed(Heap &heap, const Value &sequence) {
  std::vector<Value> items(sequence.sequence().items.rbegin(), sequence.sequence().items.rend());
  return heap.sequence(std::move(items));
}

} // namespace tessera::jinja
