#include "Value.h"

#include "Heap.h"
#include "tessera/runtime/jinja/Characters.h"

#include <cmath>

namespace tessera::jinja {

void fail(std::string why, std::string hint) { throw TemplateError{std::move(why), std::move(hint)}; }

Object::Object(Heap *heap, size_t bytes, int depth) : heap(heap), bytes(bytes), depth(depth) {
  if (depth > Limits::maxValueDepth)
    fail("values nest deeper than " + std::to_string(Limits::maxValueDepth) + " levels");
  if (heap)
    heap->reserve(bytes);
}
Object::~Object() {
  if (heap)
    heap->release(bytes);
}

Text::Text(Heap *heap, std::string text, bool markup)
    : Object(heap, sizeof(Text) + text.size(), 1), text(std::move(text)), markup(markup) {}
Missing::Missing(Heap *heap, std::string why)
    : Object(heap, sizeof(Missing) + why.size(), 1), why(std::move(why)) {}
Sequence::Sequence(Heap *heap, std::vector<Value> items, Flavor flavor, int depth)
    : Object(heap, sizeof(Sequence) + items.size() * sizeof(Value), depth), items(std::move(items)),
      flavor(flavor) {}
Iterator::Iterator(Heap *heap, Value items, std::string what)
    : Object(heap, sizeof(Iterator), items.depth() + 1), items(std::move(items)), what(std::move(what)) {}
Function::Function(Heap *heap, std::string name, Builtin builtin, Value self)
    : Object(heap, sizeof(Function), self.depth() + 1), name(std::move(name)), builtin(builtin),
      self(std::move(self)) {}
Function::Function(Heap *heap, const MacroTree *macro, Scope *scope)
    : Object(heap, sizeof(Function), 1), macro(macro), scope(scope) {}
Loop::Loop(Heap *heap, Value items, int depth0)
    : Object(heap, sizeof(Loop), items.depth() + 1), items(std::move(items)), depth0(depth0) {}

static size_t bytesOfDict(const std::vector<std::pair<Value, Value>> &entries,
                          const std::map<std::string, size_t> &index) {
  size_t bytes = sizeof(Dict) + entries.size() * sizeof(entries[0]);
  for (const auto &[key, at] : index)
    bytes += 96 + key.size(); // a node of the map
  return bytes;
}
Dict::Dict(Heap *heap, std::vector<std::pair<Value, Value>> entries, std::map<std::string, size_t> index,
           int depth)
    : Object(heap, bytesOfDict(entries, index), depth), entries(std::move(entries)), index(std::move(index)) {
}

std::string keyText(const Value &key) {
  switch (key.kind()) {
  case Kind::None:
    return "none";
  case Kind::String:
    return "s" + std::string(key.text());
  case Kind::Bool:
  case Kind::Int:
    return "i" + std::to_string(key.integer());
  case Kind::Float: {
    double value = key.real();
    if (value == std::floor(value) && std::fabs(value) < 9e18)
      return "i" + std::to_string(int64_t(value));
    return "f" + std::to_string(value) + std::string(reinterpret_cast<const char *>(&value), sizeof value);
  }
  default:
    return {};
  }
}

const Value *Dict::find(const Value &key) const {
  auto found = index.find(keyText(key));
  return found == index.end() ? nullptr : &entries[found->second].second;
}
const Value *Dict::find(std::string_view key) const {
  auto found = index.find("s" + std::string(key));
  return found == index.end() ? nullptr : &entries[found->second].second;
}

Value Value::boolean(bool value) {
  Value made(Kind::Bool);
  made.number_.integer = value;
  return made;
}
Value Value::integer(int64_t value) {
  Value made(Kind::Int);
  made.number_.integer = value;
  return made;
}
Value Value::real(double value) {
  Value made(Kind::Float);
  made.number_.real = value;
  return made;
}
Value Value::object(Kind kind, std::shared_ptr<Object> object) {
  Value made(kind);
  made.object_ = std::move(object);
  return made;
}

std::string_view Value::text() const { return static_cast<const Text &>(*object_).text; }
bool Value::isMarkup() const { return isString() && static_cast<const Text &>(*object_).markup; }
const Sequence &Value::sequence() const { return static_cast<const Sequence &>(*object_); }
Iterator &Value::iterator() const { return static_cast<Iterator &>(*object_); }
const Dict &Value::dict() const { return static_cast<const Dict &>(*object_); }
Namespace &Value::space() const { return static_cast<Namespace &>(*object_); }
const Function &Value::function() const { return static_cast<const Function &>(*object_); }
Loop &Value::loop() const { return static_cast<Loop &>(*object_); }
std::string Value::whyUndefined() const {
  return object_ ? static_cast<const Missing &>(*object_).why : "a value is undefined";
}

void Heap::step(uint64_t count) {
  if ((steps_ += count) > limits.maxSteps)
    fail("it takes more than " + std::to_string(limits.maxSteps) + " steps",
         "is there a loop without an end in it?");
}
void Heap::require(size_t bytes) {
  if (bytes > limits.maxValueBytes || bytes_ > limits.maxValueBytes - bytes)
    fail("its values take more than " + std::to_string(limits.maxValueBytes) + " bytes");
}
void Heap::reserve(size_t bytes) {
  require(bytes);
  bytes_ += bytes;
}

template <typename T, typename... Rest> Value Heap::make(Kind kind, Rest &&...rest) {
  return Value::object(kind, std::make_shared<T>(this, std::forward<Rest>(rest)...));
}

Value Heap::text(std::string text, bool markup) {
  work(text.size());
  return make<Text>(Kind::String, std::move(text), markup);
}
Value Heap::undefined(std::string why) { return make<Missing>(Kind::Undefined, std::move(why)); }
Value Heap::sequence(std::vector<Value> items, Flavor flavor) {
  step(1 + items.size());
  int depth = 0;
  for (const Value &item : items)
    depth = std::max(depth, item.depth());
  return make<Sequence>(Kind::Sequence, std::move(items), flavor, depth + 1);
}
Value Heap::iterator(std::vector<Value> items, const char *what) {
  return make<Iterator>(Kind::Iterator, sequence(std::move(items)), what);
}
Value Heap::dict(std::vector<std::pair<Value, Value>> entries) {
  step(1 + 4 * entries.size());
  std::map<std::string, size_t> index;
  size_t kept = 0;
  int depth = 0;
  for (auto &[key, value] : entries) {
    std::string name = keyText(key);
    if (name.empty())
      fail("a key of a dictionary is neither text, nor a number, nor none", "use text");
    work(name.size());
    depth = std::max(depth, value.depth());
    auto [at, isNew] = index.emplace(std::move(name), kept);
    if (!isNew)
      entries[at->second].second = value;
    else if (&entries[kept].first != &key)
      entries[kept++] = {key, value};
    else
      ++kept;
  }
  entries.resize(kept);
  return make<Dict>(Kind::Dict, std::move(entries), std::move(index), depth + 1);
}
Value Heap::function(std::string name, Builtin builtin, Value self) {
  return make<Function>(Kind::Function, std::move(name), builtin, std::move(self));
}
Value Heap::macro(const MacroTree *macro, Scope *scope) {
  return make<Function>(Kind::Function, macro, scope);
}
Value Heap::loop(Value items) { return make<Loop>(Kind::Loop, std::move(items), 0); }

Value Heap::fromJson(const Json &json, int depth) {
  if (depth > Limits::maxValueDepth)
    fail("values nest deeper than " + std::to_string(Limits::maxValueDepth) + " levels");
  step();
  switch (json.type()) {
  case Json::value_t::boolean:
    return Value::boolean(json.get<bool>());
  case Json::value_t::number_unsigned:
    if (json.get<uint64_t>() > uint64_t(INT64_MAX))
      fail("an integer is beyond 64 bits: " + std::to_string(json.get<uint64_t>()));
    [[fallthrough]];
  case Json::value_t::number_integer:
    return Value::integer(json.get<int64_t>());
  case Json::value_t::number_float:
    return Value::real(json.get<double>());
  case Json::value_t::string: {
    const std::string &string = json.get_ref<const std::string &>();
    if (!isValidUtf8(string))
      fail("a text given to it is not valid UTF-8", "give it in UTF-8");
    return text(string);
  }
  case Json::value_t::array: {
    std::vector<Value> items;
    for (const Json &item : json)
      items.push_back(fromJson(item, depth + 1));
    return sequence(std::move(items));
  }
  case Json::value_t::object: {
    std::vector<std::pair<Value, Value>> entries;
    for (const auto &[name, item] : json.items()) {
      if (!isValidUtf8(name))
        fail("a text given to it is not valid UTF-8", "give it in UTF-8");
      entries.emplace_back(text(name), fromJson(item, depth + 1));
    }
    return dict(std::move(entries));
  }
  default:
    return Value::none();
  }
}

} // namespace tessera::jinja
