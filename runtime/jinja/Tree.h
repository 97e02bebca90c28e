// A parsed template.
#ifndef TESSERA_RUNTIME_JINJA_TREE_H
#define TESSERA_RUNTIME_JINJA_TREE_H

#include "Value.h"

#include <set>

namespace tessera::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using Body = std::vector<std::unique_ptr<Statement>>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr restPositional, restNamed; // *x, **x; may be null
};

struct Expression {
  enum Kind {
    Constant,  // constant
    Name,      // name
    Attribute, // operands[0].name
    Item,      // operands[0][operands[1]]
    Slice,     // operands[0][operands[1] : operands[2] : operands[3]], null where left out
    Call,      // operands[0](arguments)
    Filter,    // operands[0] | name(arguments); operands[0] null in a filter block
    Test,      // operands[0] is name(arguments)
    List,
    Tuple,
    Dict, // keys and values in turn
    Not,
    Negative,
    Positive,
    And,
    Or,
    Binary,      // operands[0] name operands[1]: + - * / // % **
    Concatenate, // ~
    Compare,     // operands[0] names[0] operands[1] names[1] ...
    Conditional, // operands[0] if operands[1] else operands[2], which may be null
  };
  Kind kind;
  int line = 0, depth = 1;
  std::string name;
  std::vector<std::string> names;
  Value constant;
  std::vector<ExpressionPtr> operands;
  std::unique_ptr<CallArguments> arguments;
};

// Where `set` and `for` put a value: a name, a namespace's attribute, or several of them.
struct Target {
  std::string name, attribute; // attribute empty: a name
  std::vector<Target> parts;   // not empty: a tuple
};

struct MacroTree {
  std::string name; // "caller" of call blocks
  std::vector<std::string> parameters;
  std::vector<ExpressionPtr> defaults; // of the last parameters
  Body body;
  bool readsCaller = false, readsNamed = false, readsRest = false;
};

struct Statement {
  enum Kind {
    Print,    // value
    Text,     // text
    If,       // branches; the last one may lack a condition
    For,      // target, value, condition, body, otherwise
    Set,      // target, value
    SetBlock, // target, body, value: filters, or null
    With,     // targets = values, body
    Filter,   // value: filters, body
    Macro,    // macro
    Call,     // value: a call; macro: its caller
    Scoped,   // body in a scope of its own
    Break,
    Continue,
  };
  Kind kind;
  int line = 0;
  std::string text;
  ExpressionPtr value, condition;
  Target target;
  std::vector<std::pair<ExpressionPtr, Body>> branches;
  std::vector<std::pair<Target, ExpressionPtr>> assignments;
  Body body, otherwise;
  std::unique_ptr<MacroTree> macro;
};

struct TemplateTree {
  std::string name;
  Body body;
  std::set<std::string, std::less<>> namesRead;
};

// Throws TemplateError.
std::shared_ptr<const TemplateTree> parseTree(std::string_view source, const std::string &name);

} // namespace tessera::jinja
#endif
