#include "Interpreter.h"

#include <algorithm>

namespace tessera::jinja {

Value *Scope::find(std::string_view name) {
  for (auto &[own, value] : variables)
    if (own == name)
      return &value;
  return nullptr;
}

Interpreter::Level::Level(Interpreter &in, int line) : in(in) {
  in.heap.step();
  if (line)
    in.line_ = line;
  if (in.depth_ >= Limits::maxDepth)
    fail("macros and expressions nest deeper than " + std::to_string(Limits::maxDepth) + " levels",
         "does a macro call itself without an end?");
  ++in.depth_;
}

// A scope while it is entered. One that a macro refers to stays until the end of the rendering.
class Interpreter::ScopeHolder {
public:
  ScopeHolder(Interpreter &in, Scope *parent)
      : in_(in), outer_(in.scope_), scope_(std::make_unique<Scope>()) {
    in.heap.step();
    scope_->parent = parent;
    in.scope_ = scope_.get();
  }
  ~ScopeHolder() {
    in_.scope_ = outer_;
    if (scope_->isCaptured)
      in_.capturedScopes_.push_back(std::move(scope_));
  }
  Scope &operator*() { return *scope_; }

private:
  Interpreter &in_;
  Scope *outer_;
  std::unique_ptr<Scope> scope_;
};

// Output goes to a text of its own. What is printed counts as long as it is held.
class Interpreter::Capture {
public:
  explicit Capture(Interpreter &in) : in_(in), outer_(in.out_) { in.out_ = &text; }
  ~Capture() {
    in_.out_ = outer_;
    in_.outputBytes_ -= text.size();
  }
  std::string text;

private:
  Interpreter &in_;
  std::string *outer_;
};

Interpreter::~Interpreter() {
  // Namespaces may lead to each other in circles: each is emptied by itself.
  for (auto &space : namespaces_)
    space->attributes.clear();
}

std::string Interpreter::run(const TemplateTree &tree, const Json &context) {
  std::string text;
  out_ = &text;
  ScopeHolder outside(*this, nullptr);
  for (const auto &[name, json] : context.items())
    if (tree.namesRead.count(name)) // others cannot be seen
      set(*outside, *tree.namesRead.find(name), heap.fromJson(json));
  ScopeHolder root(*this, &*outside);
  runBody(tree.body);
  return text;
}

void Interpreter::print(std::string_view text) {
  heap.work(text.size());
  if (text.size() > heap.limits.maxOutputBytes - outputBytes_)
    fail("it prints more than " + std::to_string(heap.limits.maxOutputBytes) + " bytes");
  outputBytes_ += text.size();
  out_->append(text);
}

Interpreter::Flow Interpreter::runBody(const Body &body) {
  for (const auto &statement : body)
    if (Flow flow = runStatement(*statement); flow != Flow::Next)
      return flow;
  return Flow::Next;
}

std::string Interpreter::capture(const Body &body, Flow &flow) {
  Capture captured(*this);
  flow = runBody(body);
  return captured.text; // a copy: its bytes are counted until here
}

Interpreter::Flow Interpreter::runStatement(const Statement &statement) {
  Level level(*this, statement.line);
  Flow flow = Flow::Next;
  switch (statement.kind) {
  case Statement::Text:
    print(statement.text);
    break;
  case Statement::Print: {
    Value value = evaluate(*statement.value);
    if (value.isString())
      print(value.text());
    else
      print(textOf(heap, value));
    break;
  }
  case Statement::If:
    return runIf(statement);
  case Statement::For:
    return runFor(statement);
  case Statement::Set:
    assign(statement.target, evaluate(*statement.value), *scope_);
    break;
  case Statement::SetBlock:
    runSetBlock(statement);
    break;
  case Statement::With: {
    std::vector<Value> values; // seen from outside
    for (const auto &[target, value] : statement.assignments)
      values.push_back(evaluate(*value));
    ScopeHolder inner(*this, scope_);
    for (size_t i = 0; i < values.size(); ++i)
      assign(statement.assignments[i].first, values[i], *inner);
    return runBody(statement.body);
  }
  case Statement::Filter: {
    ScopeHolder inner(*this, scope_);
    std::string text = capture(statement.body, flow);
    if (flow == Flow::Next)
      print(textOf(heap, applyFilters(statement.value.get(), heap.text(std::move(text)))));
    break;
  }
  case Statement::Macro:
    for (Scope *scope = scope_; scope && !scope->isCaptured; scope = scope->parent)
      scope->isCaptured = true;
    set(*scope_, statement.macro->name, heap.macro(statement.macro.get(), scope_));
    break;
  case Statement::Call:
    runCall(statement);
    break;
  case Statement::Scoped: {
    ScopeHolder inner(*this, scope_);
    return runBody(statement.body);
  }
  case Statement::Break:
    return Flow::Break;
  case Statement::Continue:
    return Flow::Continue;
  }
  return flow;
}

Interpreter::Flow Interpreter::runIf(const Statement &statement) {
  for (const auto &[condition, body] : statement.branches)
    if (!condition || isTrue(evaluate(*condition)))
      return runBody(body);
  return Flow::Next;
}

// What a loop goes through: with `if`, those that it lets pass.
Value Interpreter::loopItems(const Statement &statement) {
  Value all = elements(heap, evaluate(*statement.value));
  if (!statement.condition)
    return all;
  std::vector<Value> passing;
  for (const Value &one : all.sequence().items) {
    ScopeHolder inner(*this, scope_);
    assign(statement.target, one, *inner);
    if (isTrue(evaluate(*statement.condition)))
      passing.push_back(one);
  }
  return heap.sequence(std::move(passing));
}

Interpreter::Flow Interpreter::runFor(const Statement &statement) {
  Value items = loopItems(statement);
  const auto &all = items.sequence().items;
  if (all.empty()) {
    ScopeHolder inner(*this, scope_);
    return runBody(statement.otherwise);
  }
  Value loop = heap.loop(items);
  for (size_t i = 0; i < all.size(); ++i) {
    loop.loop().index0 = i;
    ScopeHolder inner(*this, scope_);
    set(*inner, "loop", loop);
    assign(statement.target, all[i], *inner);
    if (runBody(statement.body) == Flow::Break)
      break;
  }
  return Flow::Next;
}

void Interpreter::runSetBlock(const Statement &statement) {
  Value text;
  {
    ScopeHolder inner(*this, scope_);
    Flow flow = Flow::Next;
    text = heap.text(capture(statement.body, flow));
  }
  assign(statement.target, applyFilters(statement.value.get(), text), *scope_);
}

void Interpreter::runCall(const Statement &statement) {
  for (Scope *scope = scope_; scope && !scope->isCaptured; scope = scope->parent)
    scope->isCaptured = true;
  Value callee = evaluate(*statement.value->operands[0]);
  Arguments arguments = evaluateArguments(*statement.value->arguments);
  arguments.named.emplace_back("caller", heap.macro(statement.macro.get(), scope_));
  print(textOf(heap, call(callee, arguments)));
}

void Interpreter::set(Scope &scope, std::string_view name, Value value) {
  if (Value *old = scope.find(name)) {
    *old = std::move(value);
    return;
  }
  scope.variables.emplace_back(name, std::move(value));
}

void Interpreter::assign(const Target &target, const Value &value, Scope &scope) {
  if (!target.parts.empty()) {
    Value parts = elements(heap, value);
    const auto &items = parts.sequence().items;
    if (items.size() != target.parts.size())
      fail(std::to_string(items.size()) + " values cannot be given to " +
           std::to_string(target.parts.size()) + " names");
    for (size_t i = 0; i < items.size(); ++i)
      assign(target.parts[i], items[i], scope);
    return;
  }
  if (target.attribute.empty())
    return set(scope, target.name, value);
  Value space = lookUp(target.name);
  if (!space.is(Kind::Namespace))
    fail("'" + target.name + "' is no namespace, so '" + target.name + "." + target.attribute +
             "' cannot be set",
         "make it with namespace()");
  heap.require(128 + target.attribute.size());
  space.space().attributes[target.attribute] = value;
}

Value Interpreter::makeNamespace(std::map<std::string, Value, std::less<>> attributes) {
  namespaces_.push_back(std::make_unique<Namespace>(&heap));
  namespaces_.back()->attributes = std::move(attributes);
  return Value::object(Kind::Namespace, std::shared_ptr<Object>(namespaces_.back().get(), [](Object *) {}));
}

Value Interpreter::callMacro(const Function &function, Arguments &arguments) {
  const MacroTree &macro = *function.macro;
  Level level(*this, 0);
  ScopeHolder inner(*this, function.scope);
  size_t count = macro.parameters.size();
  std::vector<Value> values(count);
  std::vector<bool> given(count);
  for (size_t i = 0; i < std::min(count, arguments.positional.size()); ++i)
    values[i] = arguments.positional[i], given[i] = true;
  if (arguments.positional.size() > count && !macro.readsRest)
    fail("macro '" + macro.name + "' takes " + std::to_string(count) + " arguments and is given " +
         std::to_string(arguments.positional.size()));
  Value caller = heap.undefined("no caller is defined");
  std::vector<std::pair<Value, Value>> rest;
  for (auto &[name, value] : arguments.named) {
    auto at =
        size_t(std::find(macro.parameters.begin(), macro.parameters.end(), name) - macro.parameters.begin());
    if (at < count && given[at])
      fail("macro '" + macro.name + "' is given '" + name + "' twice");
    if (at < count)
      values[at] = value, given[at] = true;
    else if (name == "caller" && macro.readsCaller)
      caller = value;
    else if (macro.readsNamed)
      rest.emplace_back(heap.text(name), value);
    else
      fail("macro '" + macro.name + "' takes no argument '" + name + "'");
  }
  if (macro.readsCaller)
    set(*inner, "caller", caller);
  if (macro.readsNamed)
    set(*inner, "kwargs", heap.dict(std::move(rest)));
  if (macro.readsRest) {
    size_t from = std::min(count, arguments.positional.size());
    set(*inner, "varargs",
        heap.tuple({arguments.positional.begin() + long(from), arguments.positional.end()}));
  }
  size_t withoutDefault = count - macro.defaults.size();
  for (size_t i = 0; i < count; ++i) {
    if (!given[i])
      values[i] = i < withoutDefault ? heap.undefined("parameter '" + macro.parameters[i] + "' was not given")
                                     : evaluate(*macro.defaults[i - withoutDefault]);
    set(*inner, macro.parameters[i], values[i]);
  }
  Flow flow = Flow::Next;
  return heap.text(capture(macro.body, flow));
}

} // namespace tessera::jinja
