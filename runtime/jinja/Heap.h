// Steps and bytes of one rendering, and the values that it makes.
#ifndef TESSERA_RUNTIME_JINJA_HEAP_H
#define TESSERA_RUNTIME_JINJA_HEAP_H

#include "Value.h"

namespace tessera::jinja {

// What ends a parsing or a rendering; never leaves this library.
struct TemplateError {
  std::string why, hint;
  int line = 0; // 0: where the interpreter is
};
[[noreturn]] void fail(std::string why, std::string hint = {});

class Heap {
public:
  explicit Heap(const Limits &limits) : limits(limits) {}
  const Limits limits;

  void step(uint64_t count = 1);
  void work(size_t bytes) { step(1 + bytes / 64); } // bytes looked at or moved
  void require(size_t bytes);                       // fails if so many more would be too many
  void reserve(size_t bytes);                       // from now on they count
  void release(size_t bytes) { bytes_ -= bytes; }
  size_t bytes() const { return bytes_; }

  Value text(std::string text, bool markup = false);
  Value undefined(std::string why);
  Value undefinedName(std::string_view name) { return undefined("'" + std::string(name) + "' is undefined"); }
  Value sequence(std::vector<Value> items, Flavor flavor = Flavor::List);
  Value tuple(std::vector<Value> items) { return sequence(std::move(items), Flavor::Tuple); }
  Value iterator(std::vector<Value> items, const char *what = "generator");
  Value dict(std::vector<std::pair<Value, Value>> entries); // a later one replaces an earlier one
  Value function(std::string name, Builtin builtin, Value self = {});
  Value macro(const MacroTree *macro, Scope *scope);
  Value loop(Value items);
  // Of a JSON value; texts must be UTF-8.
  Value fromJson(const Json &json, int depth = 0);

private:
  template <typename T, typename... Rest> Value make(Kind kind, Rest &&...rest);
  uint64_t steps_ = 0;
  size_t bytes_ = 0;
};

// Text under construction, held against the limits while it grows.
class TextBuilder {
public:
  explicit TextBuilder(Heap &heap) : heap_(heap) {}
  void append(std::string_view part) {
    heap_.work(part.size());
    heap_.require(text.size() + part.size());
    text += part;
  }
  std::string text;

private:
  Heap &heap_;
};

} // namespace tessera::jinja
#endif
