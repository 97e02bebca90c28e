#include "Interpreter.h"
#include "tessera/runtime/jinja/Characters.h"

#include <algorithm>

namespace tessera::jinja {

Value Interpreter::lookUp(std::string_view name) {
  for (Scope *scope = scope_; scope; scope = scope->parent) {
    heap.step();
    if (Value *value = scope->find(name))
      return *value;
  }
  if (Builtin builtin = findGlobal(name))
    return heap.function(std::string(name), builtin);
  return heap.undefinedName(name);
}

Value Interpreter::evaluate(const Expression &expression) {
  Level level(*this, expression.line);
  switch (expression.kind) {
  case Expression::Constant:
    return expression.constant;
  case Expression::Name:
    return lookUp(expression.name);
  case Expression::Attribute:
    return attribute(evaluate(*expression.operands[0]), expression.name);
  case Expression::Not:
    return Value::boolean(!isTrue(evaluate(*expression.operands[0])));
  case Expression::And: {
    Value left = evaluate(*expression.operands[0]);
    return isTrue(left) ? evaluate(*expression.operands[1]) : left;
  }
  case Expression::Or: {
    Value left = evaluate(*expression.operands[0]);
    return isTrue(left) ? left : evaluate(*expression.operands[1]);
  }
  case Expression::Conditional:
    if (isTrue(evaluate(*expression.operands[1])))
      return evaluate(*expression.operands[0]);
    if (expression.operands[2])
      return evaluate(*expression.operands[2]);
    return heap.undefined("the inline if-expression has no else, and its condition is false");
  case Expression::Compare:
    return evaluateCompare(expression);
  case Expression::Filter:
    return evaluateFilter(expression, nullptr);
  default:
    return evaluateParts(expression);
  }
}

// Kinds that evaluate all their operands, from the first.
Value Interpreter::evaluateParts(const Expression &expression) {
  std::vector<Value> parts;
  for (const ExpressionPtr &operand : expression.operands)
    parts.push_back(operand ? evaluate(*operand) : Value::none());
  switch (expression.kind) {
  case Expression::Item:
    return item(parts[0], parts[1]);
  case Expression::Slice:
    return parts[0].isUndefined() ? (fail(parts[0].whyUndefined()), Value())
                                  : slice(heap, parts[0], parts[1], parts[2], parts[3]);
  case Expression::List:
    return heap.sequence(std::move(parts));
  case Expression::Tuple:
    return heap.tuple(std::move(parts));
  case Expression::Dict: {
    std::vector<std::pair<Value, Value>> entries;
    for (size_t i = 0; i < parts.size(); i += 2)
      entries.emplace_back(parts[i], parts[i + 1]);
    return heap.dict(std::move(entries));
  }
  case Expression::Negative:
    return negative(parts[0]);
  case Expression::Positive:
    return negative(negative(parts[0]));
  case Expression::Binary:
    return binary(heap, expression.name, parts[0], parts[1]);
  case Expression::Concatenate: {
    TextBuilder text(heap);
    for (const Value &part : parts)
      appendText(text, part);
    return heap.text(std::move(text.text));
  }
  case Expression::Call: {
    Arguments arguments = evaluateArguments(*expression.arguments);
    line_ = expression.line;
    return call(parts[0], arguments);
  }
  case Expression::Test: {
    Arguments arguments = evaluateArguments(*expression.arguments);
    return Value::boolean(test(expression.name, parts[0], arguments));
  }
  default:
    fail("an expression of an unknown kind");
  }
}

Value Interpreter::evaluateCompare(const Expression &expression) {
  Value left = evaluate(*expression.operands[0]);
  for (size_t i = 0; i < expression.names.size(); ++i) {
    Value right = evaluate(*expression.operands[i + 1]);
    const std::string &name = expression.names[i];
    bool holds = name == "=="       ? equal(heap, left, right)
                 : name == "!="     ? !equal(heap, left, right)
                 : name == "in"     ? contains(heap, right, left)
                 : name == "not in" ? !contains(heap, right, left)
                 : name == "<"      ? less(heap, left, right)
                 : name == ">"      ? less(heap, right, left)
                 : name == "<="     ? less(heap, left, right) || equal(heap, left, right)
                                    : less(heap, right, left) || equal(heap, left, right);
    if (!holds)
      return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Interpreter::evaluateFilter(const Expression &expression, const Value *operand) {
  // Chains of filters on a block's text end at that text.
  Value value = expression.operands[0] ? (expression.operands[0]->kind == Expression::Filter && operand
                                              ? evaluateFilter(*expression.operands[0], operand)
                                              : evaluate(*expression.operands[0]))
                                       : *operand;
  Arguments arguments = evaluateArguments(*expression.arguments);
  line_ = expression.line;
  return filter(expression.name, value, arguments);
}

Value Interpreter::applyFilters(const Expression *filters, const Value &value) {
  return filters ? evaluateFilter(*filters, &value) : value;
}

Arguments Interpreter::evaluateArguments(const CallArguments &given) {
  Arguments arguments;
  for (const ExpressionPtr &one : given.positional)
    arguments.positional.push_back(evaluate(*one));
  for (const auto &[name, one] : given.named)
    arguments.named.emplace_back(name, evaluate(*one));
  if (given.restPositional) {
    Value rest = elements(heap, evaluate(*given.restPositional));
    for (const Value &one : rest.sequence().items)
      arguments.positional.push_back(one);
  }
  if (given.restNamed) {
    Value rest = evaluate(*given.restNamed);
    if (!rest.is(Kind::Dict))
      fail(std::string("'**' wants a dictionary, not ") + typeName(rest));
    for (const auto &[key, one] : rest.dict().entries) {
      if (!key.isString())
        fail("'**' wants names that are text");
      for (const auto &[name, value] : arguments.named)
        if (name == key.text())
          fail("a call gives '" + name + "' twice");
      arguments.named.emplace_back(std::string(key.text()), one);
    }
  }
  if (arguments.positional.size() + arguments.named.size() > Limits::maxArguments)
    fail("a call gives more than " + std::to_string(Limits::maxArguments) + " arguments");
  return arguments;
}

static bool changesItsOwner(const Value &owner, std::string_view name) {
  static const std::string_view ofLists[] = {"append", "extend",  "insert", "pop",
                                             "remove", "reverse", "sort",   "clear"};
  static const std::string_view ofDicts[] = {"pop", "popitem", "setdefault", "update", "clear"};
  auto isIn = [&](const auto &names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  if (owner.is(Kind::Sequence))
    return owner.sequence().flavor == Flavor::List && isIn(ofLists);
  return owner.is(Kind::Dict) && isIn(ofDicts);
}

// What Python finds as an attribute of a value, before its elements are looked at.
static Value method(Interpreter &in, const Value &value, std::string_view name) {
  if (changesItsOwner(value, name))
    return in.heap.undefined("'" + std::string(name) + "' would change " + typeName(value) +
                             ", which the sandbox of chat templates forbids");
  Builtin builtin = value.isString()           ? findTextMethod(name)
                    : value.is(Kind::Dict)     ? findDictMethod(name)
                    : value.is(Kind::Sequence) ? findListMethod(name)
                                               : nullptr;
  return builtin ? in.heap.function(std::string(name), builtin, value) : Value();
}

static Value loopAttribute(Interpreter &in, const Loop &loop, std::string_view name) {
  const auto &items = loop.items.sequence().items;
  int64_t index = int64_t(loop.index0), count = int64_t(items.size());
  if (name == "index0" || name == "index")
    return Value::integer(index + (name == "index"));
  if (name == "revindex0" || name == "revindex")
    return Value::integer(count - index - (name == "revindex0"));
  if (name == "first" || name == "last")
    return Value::boolean(name == "first" ? index == 0 : index + 1 == count);
  if (name == "length")
    return Value::integer(count);
  if (name == "depth0" || name == "depth")
    return Value::integer(name == "depth");
  if (name == "previtem")
    return index > 0 ? items[size_t(index) - 1] : in.heap.undefined("there is no previous item");
  if (name == "nextitem")
    return index + 1 < count ? items[size_t(index) + 1] : in.heap.undefined("there is no next item");
  if (name == "changed")
    fail("'loop.changed' is not supported", "compare with loop.previtem");
  return {};
}

static Value loopCycle(Interpreter &, const Value &self, Arguments &arguments) {
  if (arguments.positional.empty())
    fail("'loop.cycle' wants values");
  return arguments.positional[self.loop().index0 % arguments.positional.size()];
}

static Value missing(Interpreter &in, const Value &value, std::string_view name) {
  return in.heap.undefined(std::string(typeName(value)) + " has no '" + std::string(name) + "'");
}

Value Interpreter::attribute(const Value &value, std::string_view name) {
  heap.step();
  if (value.isUndefined())
    fail(value.whyUndefined(), "give it, or test it with 'is defined'");
  if (Value found = method(*this, value, name); !found.isUndefined() || found.identity())
    return found;
  if (value.is(Kind::Dict)) {
    if (const Value *entry = value.dict().find(name))
      return *entry;
  } else if (value.is(Kind::Namespace)) {
    auto found = value.space().attributes.find(name);
    if (found != value.space().attributes.end())
      return found->second;
  } else if (value.is(Kind::Loop)) {
    if (name == "cycle")
      return heap.function("loop.cycle", loopCycle, value);
    if (Value found = loopAttribute(*this, value.loop(), name); !found.isUndefined() || found.identity())
      return found;
  }
  return missing(*this, value, name);
}

Value Interpreter::item(const Value &value, const Value &key) {
  heap.step();
  if (value.isUndefined())
    fail(value.whyUndefined(), "give it, or test it with 'is defined'");
  if (value.is(Kind::Dict)) {
    if (const Value *entry = value.dict().find(key))
      return *entry;
  } else if (key.isInteger() && value.is(Kind::Sequence) &&
             (value.sequence().flavor <= Flavor::Tuple || value.sequence().flavor == Flavor::Range)) {
    int64_t place = placeOf(key.integer(), lengthOf(value));
    if (place >= 0)
      return value.sequence().items[size_t(place)];
  } else if (key.isInteger() && value.isString()) {
    heap.work(value.text().size());
    int64_t place = placeOf(key.integer(), lengthOf(value));
    if (place >= 0) {
      std::string_view text = value.text().substr(characterOffset(value.text(), place));
      return heap.text(std::string(text.substr(0, characterLength(text[0]))), value.isMarkup());
    }
  }
  if (!key.isString())
    return missing(*this, value, textOf(heap, key));
  if (value.is(Kind::Namespace) || value.is(Kind::Loop))
    return attribute(value, key.text());
  Value found = method(*this, value, key.text());
  return found.isUndefined() && !found.identity() ? missing(*this, value, key.text()) : found;
}

Value Interpreter::path(const Value &value, const Value &path) {
  if (!path.isString())
    return item(value, path);
  Value at = value;
  std::string_view rest = path.text();
  for (;;) {
    size_t dot = std::min(rest.find('.'), rest.size());
    std::string_view part = rest.substr(0, dot);
    bool isNumber = !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == part.npos;
    at = item(at, isNumber ? Value::integer(std::stoi(std::string(part))) : heap.text(std::string(part)));
    if (dot == rest.size())
      return at;
    rest.remove_prefix(dot + 1);
  }
}

Value Interpreter::call(const Value &callee, Arguments &arguments) {
  heap.step();
  if (callee.isUndefined())
    fail(callee.whyUndefined(), "give it, or test it with 'is defined'");
  if (!callee.is(Kind::Function))
    fail(std::string(typeName(callee)) + " cannot be called");
  Value held = callee; // a macro may replace the name that it was called by
  const Function &function = held.function();
  return function.macro ? callMacro(function, arguments) : function.builtin(*this, function.self, arguments);
}

Value Interpreter::filter(std::string_view name, const Value &value, Arguments &arguments) {
  Level level(*this, 0); // 'a'|map('map', 'map', ...)
  Builtin builtin = findFilter(name);
  if (!builtin)
    fail("the filter '" + std::string(name) + "' is not supported",
         "docs/ChatTemplates.md lists those that are");
  return builtin(*this, value, arguments);
}

bool Interpreter::test(std::string_view name, const Value &value, Arguments &arguments) {
  Builtin builtin = findTest(name);
  if (!builtin)
    fail("the test '" + std::string(name) + "' is not supported",
         "docs/ChatTemplates.md lists those that are");
  return isTrue(builtin(*this, value, arguments));
}

Parameters::Parameters(const char *what, Arguments &arguments, std::initializer_list<const char *> names,
                       size_t required)
    : names_(names), values_(names.size()), given_(names.size()), what_(what) {
  if (arguments.positional.size() > names.size())
    fail("'" + std::string(what) + "' takes " + std::to_string(names.size()) + " arguments and is given " +
         std::to_string(arguments.positional.size()));
  for (size_t i = 0; i < arguments.positional.size(); ++i)
    values_[i] = arguments.positional[i], given_[i] = true;
  for (auto &[name, value] : arguments.named) {
    size_t i = 0;
    while (i < names_.size() && name != names_[i])
      ++i;
    if (i == names_.size() || given_[i])
      fail("'" + std::string(what) + "' takes no argument '" + name + "'" +
           (i < names_.size() ? " beside the one it has" : ""));
    values_[i] = value, given_[i] = true;
  }
  for (size_t i = 0; i < required; ++i)
    if (!given_[i])
      fail("'" + std::string(what) + "' wants the argument '" + names_[i] + "'");
}

int64_t Parameters::integer(size_t i, int64_t otherwise) const {
  if (!has(i))
    return otherwise;
  if (!values_[i].isInteger())
    fail("'" + std::string(what_) + "' wants an integer as '" + names_[i] + "', not " + typeName(values_[i]));
  return values_[i].integer();
}
bool Parameters::flag(size_t i, bool otherwise) const { return has(i) ? isTrue(values_[i]) : otherwise; }
std::string_view Parameters::text(size_t i, std::string_view otherwise) const {
  if (!has(i))
    return otherwise;
  if (!values_[i].isString())
    fail("'" + std::string(what_) + "' wants text as '" + names_[i] + "', not " + typeName(values_[i]));
  return values_[i].text();
}

} // namespace tessera::jinja
