#include "Interpreter.h"
#include "tessera/runtime/jinja/Characters.h"

#include "Filters.h"

namespace tessera::jinja {
namespace {

template <bool (*holds)(const Value &)> Value simple(Interpreter &, const Value &self, Arguments &arguments) {
  Parameters parameters("a test", arguments, {});
  return Value::boolean(holds(self));
}
bool isDefined(const Value &value) { return !value.isUndefined(); }
bool isUndefined(const Value &value) { return value.isUndefined(); }
bool isNone(const Value &value) { return value.isNone(); }
bool isText(const Value &value) { return value.isString(); }
bool isMapping(const Value &value) { return value.is(Kind::Dict); }
bool isNumber(const Value &value) { return value.isNumber(); }
bool isWhole(const Value &value) { return value.is(Kind::Int); }
bool isFloat(const Value &value) { return value.is(Kind::Float); }
bool isBoolean(const Value &value) { return value.is(Kind::Bool); }
bool isTrueItself(const Value &value) { return value.is(Kind::Bool) && value.integer(); }
bool isFalseItself(const Value &value) { return value.is(Kind::Bool) && !value.integer(); }
bool isCallable(const Value &value) { return value.is(Kind::Function) || value.isUndefined(); }
bool isMarkup(const Value &value) { return value.isMarkup(); }
// It has a length and can be indexed.
bool isSequence(const Value &value) {
  if (value.is(Kind::Sequence))
    return value.sequence().flavor <= Flavor::Tuple || value.sequence().flavor == Flavor::Range;
  return value.isString() || value.is(Kind::Dict) || value.isUndefined();
}

// str.islower, str.isupper: it has letters with a case, all in this one.
template <void (*change)(char32_t, std::string &)>
Value hasCase(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("a test", arguments, {});
  std::string text = textOf(in.heap, self);
  in.heap.work(4 * text.size());
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    std::string same, changed;
    char32_t c = nextCharacter(text, at);
    appendCharacter(c, same);
    change(c, changed);
    if (same != changed)
      return Value::boolean(false);
    any |= isCased(c);
  }
  return Value::boolean(any);
}

bool leaves(Interpreter &in, const Value &value, const Value &by, int64_t rest) {
  return equal(in.heap, binary(in.heap, "%", value, by), Value::integer(rest));
}
template <int parity> Value hasParity(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("a test", arguments, {});
  return Value::boolean(leaves(in, self, Value::integer(2), parity));
}
Value divisibleBy(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("divisibleby", arguments, {"num"}, 1);
  return Value::boolean(leaves(in, self, parameters[0], 0));
}

Value isEqual(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("==", arguments, {"other"}, 1);
  return Value::boolean(equal(in.heap, self, parameters[0]));
}
Value isUnequal(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("!=", arguments, {"other"}, 1);
  return Value::boolean(!equal(in.heap, self, parameters[0]));
}
Value isLess(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("<", arguments, {"other"}, 1);
  return Value::boolean(less(in.heap, self, parameters[0]));
}
Value isGreater(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters(">", arguments, {"other"}, 1);
  return Value::boolean(less(in.heap, parameters[0], self));
}
Value isAtMost(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("<=", arguments, {"other"}, 1);
  return Value::boolean(less(in.heap, self, parameters[0]) || equal(in.heap, self, parameters[0]));
}
Value isAtLeast(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters(">=", arguments, {"other"}, 1);
  return Value::boolean(less(in.heap, parameters[0], self) || equal(in.heap, self, parameters[0]));
}
Value isIn(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("in", arguments, {"seq"}, 1);
  return Value::boolean(contains(in.heap, parameters[0], self));
}
// One and the same, not only equal; numbers and texts have no identity here that means anything.
Value isSame(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("sameas", arguments, {"other"}, 1);
  const Value &other = parameters[0];
  if (self.kind() != other.kind())
    return Value::boolean(false);
  if (self.identity() || other.identity())
    return Value::boolean(self.identity() == other.identity());
  return Value::boolean(equal(in.heap, self, other));
}
// Names of filters and tests are looked up as keys are.
std::string_view nameIn(const Value &value) {
  if (value.is(Kind::Sequence) || value.is(Kind::Dict))
    fail(std::string(typeName(value)) + " is no name");
  return value.isString() ? value.text() : "";
}
Value isFilter(Interpreter &, const Value &self, Arguments &arguments) {
  Parameters parameters("filter", arguments, {});
  return Value::boolean(findFilter(nameIn(self)) != nullptr);
}
Value isTest(Interpreter &, const Value &self, Arguments &arguments) {
  Parameters parameters("test", arguments, {});
  return Value::boolean(findTest(nameIn(self)) != nullptr);
}

const NamedBuiltin table[] = {
    {"defined", simple<isDefined>},
    {"undefined", simple<isUndefined>},
    {"none", simple<isNone>},
    {"string", simple<isText>},
    {"mapping", simple<isMapping>},
    {"sequence", simple<isSequence>},
    {"iterable", simple<isIterable>},
    {"number", simple<isNumber>},
    {"integer", simple<isWhole>},
    {"float", simple<isFloat>},
    {"boolean", simple<isBoolean>},
    {"true", simple<isTrueItself>},
    {"false", simple<isFalseItself>},
    {"callable", simple<isCallable>},
    {"escaped", simple<isMarkup>},
    {"lower", hasCase<appendLower>},
    {"upper", hasCase<appendUpper>},
    {"odd", hasParity<1>},
    {"even", hasParity<0>},
    {"divisibleby", divisibleBy},
    {"equalto", isEqual},
    {"eq", isEqual},
    {"==", isEqual},
    {"ne", isUnequal},
    {"!=", isUnequal},
    {"lt", isLess},
    {"lessthan", isLess},
    {"<", isLess},
    {"gt", isGreater},
    {"greaterthan", isGreater},
    {">", isGreater},
    {"le", isAtMost},
    {"<=", isAtMost},
    {"ge", isAtLeast},
    {">=", isAtLeast},
    {"in", isIn},
    {"sameas", isSame},
    {"filter", isFilter},
    {"test", isTest},
};

} // namespace

Builtin findTest(std::string_view name) { return findIn(table, name); }

} // namespace tessera::jinja
