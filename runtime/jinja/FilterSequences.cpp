#include "Filters.h"
#include "tessera/runtime/jinja/Characters.h"

#include <algorithm>
#include <set>

namespace tessera::jinja {
namespace {

Value fallback(Interpreter &, const Value &self, Arguments &arguments) {
  Parameters parameters("default", arguments, {"default_value", "boolean"});
  if (!self.isUndefined() && !(parameters.flag(1, false) && !isTrue(self)))
    return self;
  if (parameters.has(0))
    return parameters[0];
  static const Value empty = Value::object(Kind::String, std::make_shared<Text>(nullptr, "", false));
  return empty;
}

Value length(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("length", arguments, {});
  if (self.isString())
    in.heap.work(self.text().size());
  return Value::integer(lengthOf(self));
}

Value list(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("list", arguments, {});
  Value all = elements(in.heap, self);
  return all.sequence().flavor == Flavor::List ? all : in.heap.sequence(all.sequence().items);
}

// Python's generators fail when they are read, not when they are made.
template <Builtin builtin> Value lazily(Interpreter &in, const Value &self, Arguments &arguments) {
  try {
    return builtin(in, self, arguments);
  } catch (const TemplateError &error) {
    Value made = in.heap.iterator({});
    made.iterator().error = std::make_shared<TemplateError>(error);
    return made;
  }
}

Value items(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("items", arguments, {});
  std::vector<Value> pairs;
  if (self.is(Kind::Dict)) {
    for (const auto &[key, value] : self.dict().entries)
      pairs.push_back(in.heap.tuple({key, value}));
  } else if (!self.isUndefined()) {
    fail(std::string("'items' wants a dictionary, not ") + typeName(self));
  }
  return in.heap.iterator(std::move(pairs));
}

Value join(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("join", arguments, {"d", "attribute"});
  Value all = elements(in.heap, self);
  std::string between = parameters.has(0) ? textOf(in.heap, parameters[0]) : "";
  bool hasPath = parameters.has(1) && !parameters[1].isNone();
  TextBuilder out(in.heap);
  bool first = true;
  for (const Value &one : all.sequence().items) {
    if (!std::exchange(first, false))
      out.append(between);
    appendText(out, hasPath ? in.path(one, parameters[1]) : one);
  }
  return in.heap.text(std::move(out.text));
}

Value first(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("first", arguments, {});
  if (self.is(Kind::Iterator)) { // only one is taken
    Iterator &iterator = self.iterator();
    if (iterator.error)
      throw TemplateError(*iterator.error);
    const auto &all = iterator.items.sequence().items;
    return iterator.next < all.size() ? all[iterator.next++] : in.heap.undefined("there is no first item");
  }
  Value all = elements(in.heap, self);
  const auto &found = all.sequence().items;
  return found.empty() ? in.heap.undefined("there is no first item") : found.front();
}

Value last(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("last", arguments, {});
  if (self.is(Kind::Iterator))
    fail("'last' cannot look at the end of an iterator", "use '|list' first");
  Value all = elements(in.heap, self);
  const auto &found = all.sequence().items;
  return found.empty() ? in.heap.undefined("there is no last item") : found.back();
}

Value reverse(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("reverse", arguments, {});
  Value all = elements(in.heap, self);
  Value turned = reversed(in.heap, all);
  if (self.is(Kind::Iterator)) // has no end to begin at: Python makes a list of it
    return turned;
  if (!self.isString())
    return in.heap.iterator(turned.sequence().items, "list_reverseiterator");
  TextBuilder out(in.heap);
  for (const Value &one : turned.sequence().items)
    out.append(one.text());
  return in.heap.text(std::move(out.text), self.isMarkup());
}

Value map(Interpreter &in, const Value &self, Arguments &arguments) {
  std::vector<Value> made;
  if (!isTrue(self))
    return in.heap.iterator({});
  Value all = elements(in.heap, self);
  if (arguments.positional.empty()) {
    Parameters parameters("map", arguments, {"attribute", "default"}, 1);
    for (const Value &one : all.sequence().items) {
      Value found = in.path(one, parameters[0]);
      made.push_back(found.isUndefined() && parameters.has(1) && !parameters[1].isNone() ? parameters[1]
                                                                                         : found);
    }
    return in.heap.iterator(std::move(made));
  }
  if (!arguments.positional[0].isString())
    fail("'map' wants the name of a filter");
  for (const Value &one : all.sequence().items) {
    Arguments rest{{arguments.positional.begin() + 1, arguments.positional.end()}, arguments.named};
    made.push_back(in.filter(arguments.positional[0].text(), one, rest));
  }
  return in.heap.iterator(std::move(made));
}

// select, reject; with `ofAttribute` the first argument names what is tested.
template <bool wanted, bool ofAttribute>
Value select(Interpreter &in, const Value &self, Arguments &arguments) {
  if (!isTrue(self))
    return in.heap.iterator({});
  if (ofAttribute && arguments.positional.empty())
    fail("'selectattr' and 'rejectattr' want the name of an attribute");
  Value all = elements(in.heap, self);
  std::vector<Value> passing;
  for (const Value &one : all.sequence().items) {
    Value tested = ofAttribute ? in.path(one, arguments.positional[0]) : one;
    bool holds = isTrue(tested);
    if (arguments.positional.size() > ofAttribute) {
      const Value &name = arguments.positional[ofAttribute];
      if (!name.isString())
        fail("'select' and its like want the name of a test");
      Arguments rest{{arguments.positional.begin() + ofAttribute + 1, arguments.positional.end()},
                     arguments.named};
      holds = in.test(name.text(), tested, rest);
    }
    if (holds == wanted)
      passing.push_back(one);
  }
  return in.heap.iterator(std::move(passing));
}

// What is compared in place of an element: its attribute, without case unless that counts.
Value sortKey(Interpreter &in, const Value &value, const Value *path, bool caseCounts) {
  Value key = path ? in.path(value, *path) : value;
  return key.isString() && !caseCounts ? in.heap.text(lowerText(key.text())) : key;
}

using Keyed = std::pair<std::vector<Value>, Value>; // keys, element
void sortKeyed(Interpreter &in, std::vector<Keyed> &keyed, bool descends) {
  auto before = [&](const Keyed &left, const Keyed &right) {
    for (size_t i = 0; i < left.first.size(); ++i)
      if (!equal(in.heap, left.first[i], right.first[i]))
        return less(in.heap, left.first[i], right.first[i]);
    return false;
  };
  sortStably(keyed, [&](const Keyed &left, const Keyed &right) {
    return descends ? before(right, left) : before(left, right);
  });
}
Value sortedList(Interpreter &in, std::vector<Keyed> keyed, bool descends) {
  sortKeyed(in, keyed, descends);
  std::vector<Value> made;
  for (Keyed &one : keyed)
    made.push_back(std::move(one.second));
  return in.heap.sequence(std::move(made));
}

Value sort(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  std::vector<Value> paths; // "a,b" are two
  if (parameters.has(2) && parameters[2].isString()) {
    std::string_view rest = parameters.text(2);
    for (bool more = true; more;) {
      size_t comma = std::min(rest.find(','), rest.size());
      paths.push_back(in.heap.text(std::string(rest.substr(0, comma))));
      more = comma < rest.size();
      rest.remove_prefix(more ? comma + 1 : comma);
    }
  } else if (parameters.has(2) && !parameters[2].isNone()) {
    paths.push_back(parameters[2]);
  }
  Value all = elements(in.heap, self);
  std::vector<Keyed> keyed;
  for (const Value &one : all.sequence().items) {
    std::vector<Value> keys;
    for (const Value &path : paths)
      keys.push_back(sortKey(in, one, &path, parameters.flag(1, false)));
    if (paths.empty())
      keys.push_back(sortKey(in, one, nullptr, parameters.flag(1, false)));
    keyed.emplace_back(std::move(keys), one);
  }
  return sortedList(in, std::move(keyed), parameters.flag(0, false));
}

Value dictSort(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  std::string_view by = parameters.text(1, "key");
  if (by != "key" && by != "value")
    fail("'dictsort' sorts by key or value");
  if (!self.is(Kind::Dict))
    fail(self.isUndefined() ? self.whyUndefined()
                            : std::string("'dictsort' wants a dictionary, not ") + typeName(self));
  std::vector<Keyed> keyed;
  for (const auto &[key, value] : self.dict().entries)
    keyed.emplace_back(
        std::vector<Value>{sortKey(in, by == "key" ? key : value, nullptr, parameters.flag(0, false))},
        in.heap.tuple({key, value}));
  return sortedList(in, std::move(keyed), parameters.flag(2, false));
}

Value unique(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("unique", arguments, {"case_sensitive", "attribute"});
  Value all = elements(in.heap, self);
  const Value *path = parameters.has(1) && !parameters[1].isNone() ? &parameters[1] : nullptr;
  std::set<std::string> seen;
  std::vector<Value> made;
  for (const Value &one : all.sequence().items) {
    Value key = sortKey(in, one, path, parameters.flag(0, false));
    std::string name = keyText(key);
    if (name.empty())
      fail(std::string("'unique' does not go with ") + typeName(key));
    in.heap.work(name.size());
    if (seen.insert(std::move(name)).second)
      made.push_back(one);
  }
  return in.heap.iterator(std::move(made));
}

template <bool greatest> Value extreme(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters(greatest ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  Value all = elements(in.heap, self);
  const Value *path = parameters.has(1) && !parameters[1].isNone() ? &parameters[1] : nullptr;
  Value best = in.heap.undefined("there is no item to choose from"), bestKey;
  bool first = true;
  for (const Value &one : all.sequence().items) {
    Value key = sortKey(in, one, path, parameters.flag(0, false));
    if (first || (greatest ? less(in.heap, bestKey, key) : less(in.heap, key, bestKey)))
      best = one, bestKey = key;
    first = false;
  }
  return best;
}

Value sum(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("sum", arguments, {"attribute", "start"});
  Value all = elements(in.heap, self), total = parameters.has(1) ? parameters[1] : Value::integer(0);
  bool hasPath = parameters.has(0) && !parameters[0].isNone();
  if (total.isString())
    fail("'sum' does not add texts", "use '|join'");
  for (const Value &one : all.sequence().items)
    total = binary(in.heap, "+", total, hasPath ? in.path(one, parameters[0]) : one);
  return total;
}

Value batch(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("batch", arguments, {"linecount", "fill_with"}, 1);
  int64_t count = parameters.integer(0, 1);
  if (count < 1 || count > Limits::maxRange)
    fail("'batch' wants a count from 1 to " + std::to_string(Limits::maxRange));
  Value all = elements(in.heap, self);
  std::vector<Value> rows, row;
  for (const Value &one : all.sequence().items) {
    row.push_back(one);
    if (int64_t(row.size()) == count)
      rows.push_back(in.heap.sequence(std::exchange(row, {})));
  }
  if (!row.empty()) {
    if (parameters.has(1) && !parameters[1].isNone())
      row.resize(size_t(count), parameters[1]);
    rows.push_back(in.heap.sequence(std::move(row)));
  }
  return in.heap.iterator(std::move(rows));
}

Value attribute(Interpreter &in, const Value &self, Arguments &arguments) {
  Parameters parameters("attr", arguments, {"name"}, 1);
  if (self.is(Kind::Dict) && self.dict().find(parameters.text(0)) && !findDictMethod(parameters.text(0)))
    return in.heap.undefined("a dictionary has no attribute '" + std::string(parameters.text(0)) + "'");
  return in.attribute(self, parameters.text(0));
}

const NamedBuiltin table[] = {
    {"default", fallback},
    {"d", fallback},
    {"length", length},
    {"count", length},
    {"list", list},
    {"items", lazily<items>},
    {"join", join},
    {"first", first},
    {"last", last},
    {"reverse", reverse},
    {"map", lazily<map>},
    {"select", lazily<select<true, false>>},
    {"sort", sort},
    {"reject", lazily<select<false, false>>},
    {"dictsort", dictSort},
    {"selectattr", lazily<select<true, true>>},
    {"unique", lazily<unique>},
    {"rejectattr", lazily<select<false, true>>},
    {"min", extreme<false>},
    {"max", extreme<true>},
    {"sum", sum},
    {"batch", lazily<batch>},
    {"attr", attribute},
};

} // namespace

Builtin findSequenceFilter(std::string_view name) { return findIn(table, name); }

Builtin findFilter(std::string_view name) {
  for (auto find : {findTextFilter, findSequenceFilter, findNumberFilter})
    if (Builtin builtin = find(name))
      return builtin;
  return nullptr;
}

} // namespace tessera::jinja
