// Runs a tree. Its own recursion is counted (Limits::maxDepth), whatever the template does.
#ifndef TESSERA_RUNTIME_JINJA_INTERPRETER_H
#define TESSERA_RUNTIME_JINJA_INTERPRETER_H

#include "Operations.h"
#include "Tree.h"

namespace tessera::jinja {

// The names of a loop's round, a macro's call, a block. What is not found in it is looked for around it.
struct Scope {
  Scope *parent = nullptr;
  std::vector<std::pair<std::string_view, Value>> variables;
  bool isCaptured = false; // a macro was defined in it and may be called later
  Value *find(std::string_view name);
};

class Interpreter {
public:
  Interpreter(const Limits &limits, const std::tm &now) : heap(limits), now(now) {}
  ~Interpreter();

  std::string run(const TemplateTree &tree, const Json &context);
  int line() const { return line_; }

  Value attribute(const Value &value, std::string_view name);
  Value item(const Value &value, const Value &key);
  // What `map(attribute="a.b")` and its like read.
  Value path(const Value &value, const Value &path);
  Value call(const Value &callee, Arguments &arguments);
  Value filter(std::string_view name, const Value &value, Arguments &arguments);
  bool test(std::string_view name, const Value &value, Arguments &arguments);
  Value makeNamespace(std::map<std::string, Value, std::less<>> attributes);

  Heap heap;
  const std::tm now;

private:
  struct Level { // one level of the evaluation's recursion
    Level(Interpreter &in, int line);
    ~Level() { --in.depth_; }
    Interpreter &in;
  };
  class ScopeHolder;
  class Capture;
  enum class Flow { Next, Break, Continue };

  // Statements.cpp
  Flow runBody(const Body &body);
  Flow runStatement(const Statement &statement);
  Flow runIf(const Statement &statement);
  Flow runFor(const Statement &statement);
  void runSetBlock(const Statement &statement);
  void runCall(const Statement &statement);
  Value loopItems(const Statement &statement);
  std::string capture(const Body &body, Flow &flow);
  void assign(const Target &target, const Value &value, Scope &scope);
  void set(Scope &scope, std::string_view name, Value value);
  void print(std::string_view text);
  Value callMacro(const Function &function, Arguments &arguments);

  // Expressions.cpp
  Value evaluate(const Expression &expression);
  Value evaluateCompare(const Expression &expression);
  Value evaluateParts(const Expression &expression);
  Value evaluateFilter(const Expression &expression, const Value *operand);
  Arguments evaluateArguments(const CallArguments &arguments);
  Value lookUp(std::string_view name);
  Value applyFilters(const Expression *filters, const Value &value);

  Scope *scope_ = nullptr;
  std::vector<std::unique_ptr<Namespace>> namespaces_; // a Value only points at one
  std::vector<std::unique_ptr<Scope>> capturedScopes_;
  std::string *out_ = nullptr;
  size_t outputBytes_ = 0; // of all buffers
  int depth_ = 0, line_ = 0;
};

// Functions by name; null if there is none. `refusal` then says why, where the name is known.
Builtin findFilter(std::string_view name);
Builtin findTest(std::string_view name);
Builtin findGlobal(std::string_view name);
Builtin findTextMethod(std::string_view name);
Builtin findListMethod(std::string_view name);
Builtin findDictMethod(std::string_view name);

// The parameters of a builtin function, matched with what a call gives.
class Parameters {
public:
  // `names` in order; the first `required` must be given. Fails on what is not among them.
  Parameters(const char *what, Arguments &arguments, std::initializer_list<const char *> names,
             size_t required = 0);
  bool has(size_t i) const { return given_[i]; }
  const Value &operator[](size_t i) const { return values_[i]; } // undefined where not given
  int64_t integer(size_t i, int64_t otherwise) const;
  bool flag(size_t i, bool otherwise) const;
  std::string_view text(size_t i, std::string_view otherwise = {}) const; // fails unless it is text

private:
  std::vector<const char *> names_;
  std::vector<Value> values_;
  std::vector<bool> given_;
  const char *what_;
};

struct NamedBuiltin {
  std::string_view name;
  Builtin builtin;
};
template <size_t N> Builtin findIn(const NamedBuiltin (&table)[N], std::string_view name) {
  for (const NamedBuiltin &one : table)
    if (one.name == name)
      return one.builtin;
  return nullptr;
}

} // namespace tessera::jinja
#endif
