// Values of templates: Python's, as far as chat templates see them. All but namespaces and iterators are
// immutable, as in jinja2's immutable sandbox, so that values cannot hold themselves and none nests deeper
// than Limits::maxValueDepth.
#ifndef TESSERA_RUNTIME_JINJA_VALUE_H
#define TESSERA_RUNTIME_JINJA_VALUE_H

#include "tessera/runtime/jinja/Template.h"

#include <map>
#include <string>
#include <vector>

namespace tessera::jinja {

class Heap;
class Interpreter;
struct Arguments;
struct MacroTree;
struct Scope;
struct Text;
struct Sequence;
struct Iterator;
struct Dict;
struct Namespace;
struct Function;
struct Loop;
struct Missing;
struct TemplateError;

enum class Kind {
  Undefined,
  None,
  Bool,
  Int,
  Float,
  String,
  Sequence,
  Iterator,
  Dict,
  Namespace,
  Function,
  Loop
};

// What is allocated on the heap of a rendering, which counts its bytes. `heap` is null for what a parsed
// template holds.
struct Object {
  Object(Heap *heap, size_t bytes, int depth);
  virtual ~Object();
  Object(const Object &) = delete;

  Heap *heap;
  size_t bytes;
  int depth; // of the values in it, and this one
};

class Value {
public:
  Value() = default; // undefined, without a name
  static Value none() { return Value(Kind::None); }
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value real(double value);
  static Value object(Kind kind, std::shared_ptr<Object> object);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool isUndefined() const { return kind_ == Kind::Undefined; }
  bool isNone() const { return kind_ == Kind::None; }
  bool isString() const { return kind_ == Kind::String; }
  bool isInteger() const { return kind_ == Kind::Int || kind_ == Kind::Bool; } // Python's: a bool is an int
  bool isNumber() const { return isInteger() || kind_ == Kind::Float; }
  int64_t integer() const { return number_.integer; }                                           // Int, Bool
  double real() const { return kind_ == Kind::Float ? number_.real : double(number_.integer); } // a number
  int depth() const { return object_ ? object_->depth : 0; }

  // Each only for its kind.
  std::string_view text() const;
  bool isMarkup() const; // marked as HTML that is safe; false for other kinds
  const Sequence &sequence() const;
  Iterator &iterator() const;
  const Dict &dict() const;
  Namespace &space() const;
  const Function &function() const;
  Loop &loop() const;
  std::string whyUndefined() const; // "'x' is undefined"
  const Object *identity() const { return object_.get(); }

private:
  explicit Value(Kind kind) : kind_(kind) {}
  Kind kind_ = Kind::Undefined;
  union {
    int64_t integer;
    double real;
  } number_ = {0};
  std::shared_ptr<Object> object_;
};

struct Text : Object {
  Text(Heap *heap, std::string text, bool markup);
  std::string text;
  bool markup;
};

struct Missing : Object {
  Missing(Heap *heap, std::string why);
  std::string why;
};

enum class Flavor { List, Tuple, Keys, Values, Items, Range };
struct Sequence : Object {
  Sequence(Heap *heap, std::vector<Value> items, Flavor flavor, int depth);
  std::vector<Value> items;
  Flavor flavor;
};

// What Python gives once: the results of `map`, `select`, `items`, ...
struct Iterator : Object {
  Iterator(Heap *heap, Value items, std::string what);
  Value items; // a sequence
  size_t next = 0;
  std::string what;                           // "generator"
  std::shared_ptr<const TemplateError> error; // what Python would find when it is asked for the first element
};

struct Dict : Object {
  Dict(Heap *heap, std::vector<std::pair<Value, Value>> entries, std::map<std::string, size_t> index,
       int depth);
  const Value *find(const Value &key) const; // null: not there, or no key at all
  const Value *find(std::string_view key) const;
  std::vector<std::pair<Value, Value>> entries;
  std::map<std::string, size_t> index; // by keyText
};
// Equal for equal keys (1, 1.0 and True are one); empty for what is no key.
std::string keyText(const Value &key);

// The one thing that changes. It lives as long as the rendering: Value holds no share in it.
struct Namespace : Object {
  explicit Namespace(Heap *heap) : Object(heap, sizeof(Namespace), 1) {}
  std::map<std::string, Value, std::less<>> attributes;
};

using Builtin = Value (*)(Interpreter &in, const Value &self, Arguments &arguments);
struct Function : Object {
  Function(Heap *heap, std::string name, Builtin builtin, Value self);
  Function(Heap *heap, const MacroTree *macro, Scope *scope);
  std::string name;
  Builtin builtin = nullptr;
  Value self;                       // of a method
  const MacroTree *macro = nullptr; // of a macro, and where it stands
  Scope *scope = nullptr;
};

struct Loop : Object {
  Loop(Heap *heap, Value items, int depth0);
  Value items; // a sequence
  size_t index0 = 0;
  int depth0; // loops around it; recursive ones alone count, so 0
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

} // namespace tessera::jinja
#endif
