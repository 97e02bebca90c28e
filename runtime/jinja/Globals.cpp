#include "Interpreter.h"

namespace tessera::jinja {
namespace {

Value range(Interpreter &in, const Value &, Arguments &arguments) {
  if (!arguments.named.empty())
    fail("'range' takes no arguments by name");
  Parameters parameters("range", arguments, {"start", "stop", "step"}, 1);
  int64_t from = 0, to = parameters.integer(0, 0), by = parameters.integer(2, 1);
  if (parameters.has(1))
    from = to, to = parameters.integer(1, 0);
  if (by == 0)
    fail("the step of range() is 0");
  std::vector<Value> items;
  for (int64_t at = from; by > 0 ? at < to : at > to;) {
    if (int64_t(items.size()) >= Limits::maxRange)
      fail("a range has more than " + std::to_string(Limits::maxRange) + " elements");
    items.push_back(Value::integer(at));
    if (__builtin_add_overflow(at, by, &at))
      break;
  }
  return in.heap.sequence(std::move(items), Flavor::Range);
}

// A dictionary, pairs, and names with values: what dict() and namespace() take.
Value dict(Interpreter &in, const Value &, Arguments &arguments) {
  if (arguments.positional.size() > 1)
    fail("'dict' takes one argument by place");
  std::vector<std::pair<Value, Value>> entries;
  if (!arguments.positional.empty()) {
    const Value &given = arguments.positional[0];
    if (given.is(Kind::Dict)) {
      entries = given.dict().entries;
    } else {
      Value all = elements(in.heap, given);
      for (const Value &one : all.sequence().items) {
        Value pair = elements(in.heap, one);
        if (lengthOf(pair) != 2)
          fail("'dict' wants pairs");
        entries.emplace_back(pair.sequence().items[0], pair.sequence().items[1]);
      }
    }
  }
  for (auto &[name, value] : arguments.named)
    entries.emplace_back(in.heap.text(name), value);
  return in.heap.dict(std::move(entries));
}

Value makeNamespace(Interpreter &in, const Value &self, Arguments &arguments) {
  Value entries = dict(in, self, arguments);
  std::map<std::string, Value, std::less<>> attributes;
  for (const auto &[key, value] : entries.dict().entries) {
    if (!key.isString())
      fail("the name of a namespace's attribute is not text");
    attributes[std::string(key.text())] = value;
  }
  return in.makeNamespace(std::move(attributes));
}

Value raiseException(Interpreter &in, const Value &, Arguments &arguments) {
  Parameters parameters("raise_exception", arguments, {"message"}, 1);
  fail("the template itself says: " + textOf(in.heap, parameters[0]), "change the messages or the arguments");
}

Value strftimeNow(Interpreter &in, const Value &, Arguments &arguments) {
  Parameters parameters("strftime_now", arguments, {"format"}, 1);
  std::string format(parameters.text(0));
  if (format.empty())
    return in.heap.text("");
  char text[4096];
  size_t length = format.size() < 1024 ? std::strftime(text, sizeof text, format.c_str(), &in.now) : 0;
  if (length == 0)
    fail("'strftime_now' cannot tell the time in this form: " + format);
  return in.heap.text(std::string(text, length));
}

// A joiner gives nothing the first time that it is called, and its text from then on.
Value callJoiner(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("joiner", arguments, {});
  auto &attributes = self.space().attributes;
  bool used = isTrue(attributes["used"]);
  attributes["used"] = Value::boolean(true);
  return used ? attributes["sep"] : in.heap.text("");
}
Value joiner(Interpreter &in, const Value &, Arguments &arguments) {
  Parameters parameters("joiner", arguments, {"sep"});
  Value between = parameters.has(0) ? parameters[0] : in.heap.text(", ");
  return in.heap.function("joiner", callJoiner,
                          in.makeNamespace({{"sep", between}, {"used", Value::boolean(false)}}));
}

// What a template sees of a cycler it may overwrite, as it may every namespace; `self` is what it cannot
// reach.
void moveTo(const Value &self, int64_t place) {
  auto &attributes = self.space().attributes;
  attributes["pos"] = Value::integer(place);
  attributes["seen"].space().attributes["current"] = attributes["items"].sequence().items[size_t(place)];
}
Value cyclerNext(Interpreter &, const Value &self, Arguments &arguments) {
  Parameters parameters("next", arguments, {});
  auto &attributes = self.space().attributes;
  const auto &items = attributes["items"].sequence().items;
  int64_t place = attributes["pos"].integer();
  moveTo(self, (place + 1) % int64_t(items.size()));
  return items[size_t(place)];
}
Value cyclerReset(Interpreter &, const Value &self, Arguments &arguments) {
  Parameters parameters("reset", arguments, {});
  moveTo(self, 0);
  return Value::none();
}
Value cycler(Interpreter &in, const Value &, Arguments &arguments) {
  if (arguments.positional.empty() || !arguments.named.empty())
    fail("'cycler' wants values");
  Value seen = in.makeNamespace({});
  Value self = in.makeNamespace({{"items", in.heap.tuple(arguments.positional)}, {"seen", seen}});
  moveTo(self, 0);
  seen.space().attributes["next"] = in.heap.function("next", cyclerNext, self);
  seen.space().attributes["reset"] = in.heap.function("reset", cyclerReset, self);
  return seen;
}

Value lipsum(Interpreter &, const Value &, Arguments &) {
  fail("'lipsum' is not supported in chat templates");
}

const NamedBuiltin table[] = {
    {"range", range},
    {"dict", dict},
    {"namespace", makeNamespace},
    {"raise_exception", raiseException},
    {"strftime_now", strftimeNow},
    {"joiner", joiner},
    {"cycler", cycler},
    {"lipsum", lipsum},
};

Value getEntry(Interpreter &, const Value &self, Arguments &arguments) {
  Parameters parameters("get", arguments, {"key", "default"}, 1);
  if (const Value *found = self.dict().find(parameters[0]))
    return *found;
  return parameters.has(1) ? parameters[1] : Value::none();
}

// keys(), values(), items().
template <Flavor flavor> Value view(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("a method of a dictionary", arguments, {});
  std::vector<Value> items;
  for (const auto &[key, value] : self.dict().entries)
    items.push_back(flavor == Flavor::Keys     ? key
                    : flavor == Flavor::Values ? value
                                               : in.heap.tuple({key, value}));
  return in.heap.sequence(std::move(items), flavor);
}

Value copy(Interpreter &, const Value &self, Arguments &arguments) {
  Parameters parameters("copy", arguments, {});
  return self;
}

Value countEqual(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("count", arguments, {"value"}, 1);
  int64_t count = 0;
  for (const Value &one : self.sequence().items)
    count += equal(in.heap, one, parameters[0]);
  return Value::integer(count);
}
Value indexOf(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("index", arguments, {"value"}, 1);
  const auto &items = self.sequence().items;
  for (size_t i = 0; i < items.size(); ++i)
    if (equal(in.heap, items[i], parameters[0]))
      return Value::integer(int64_t(i));
  fail("a value is not in the list");
}

const NamedBuiltin dictTable[] = {
    {"get", getEntry},
    {"keys", view<Flavor::Keys>},
    {"values", view<Flavor::Values>},
    {"items", view<Flavor::Items>},
    {"copy", copy},
};
const NamedBuiltin listTable[] = {{"count", countEqual}, {"index", indexOf}, {"copy", copy}};

} // namespace

Builtin findGlobal(std::string_view name) { return findIn(table, name); }
Builtin findDictMethod(std::string_view name) { return findIn(dictTable, name); }
Builtin findListMethod(std::string_view name) { return findIn(listTable, name); }

} // namespace tessera::jinja
