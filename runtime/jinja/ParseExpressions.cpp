#include "Heap.h"
#include "Parser.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace tessera::jinja {

ExpressionPtr Parser::make(Expression::Kind kind, int line) const {
  auto expression = std::make_unique<Expression>();
  expression->kind = kind;
  expression->line = line;
  return expression;
}

// Chains (a.b.c, a + b + c) nest in the tree although not in the text.
void Parser::deepen(Expression &parent, int depth) {
  parent.depth = std::max(parent.depth, depth + 1);
  if (parent.depth > 2 * Limits::maxNesting)
    bad("an expression nests deeper than " + std::to_string(2 * Limits::maxNesting) + " levels",
        "write it as several");
}
void Parser::add(Expression &parent, ExpressionPtr operand) {
  if (operand)
    deepen(parent, operand->depth);
  parent.operands.push_back(std::move(operand));
}

// Values with commas between them are a tuple.
ExpressionPtr Parser::parseTupleOrExpression(bool parenthesized, bool withCondition) {
  int line = current().line;
  std::vector<ExpressionPtr> items;
  bool isTuple = false;
  auto isEnd = [&] {
    return current().kind == Token::VariableEnd || current().kind == Token::BlockEnd || isOperator(")");
  };
  while (!isEnd()) {
    items.push_back(parseExpression(withCondition));
    if (!takeOperator(","))
      break;
    isTuple = true;
  }
  if (!isTuple && !items.empty())
    return std::move(items[0]);
  if (!isTuple && !parenthesized)
    unexpected("a value");
  ExpressionPtr tuple = make(Expression::Tuple, line);
  for (ExpressionPtr &item : items)
    add(*tuple, std::move(item));
  return tuple;
}

ExpressionPtr Parser::parseExpression(bool withCondition) {
  Nested nested(*this);
  ExpressionPtr value = parseOr();
  while (withCondition && isName("if")) {
    ExpressionPtr whole = make(Expression::Conditional, take().line);
    add(*whole, std::move(value));
    add(*whole, parseOr());
    add(*whole, takeName("else") ? parseExpression() : nullptr);
    value = std::move(whole);
  }
  return value;
}

ExpressionPtr Parser::parseOr() {
  ExpressionPtr left = parseAnd();
  while (isName("or")) {
    ExpressionPtr whole = make(Expression::Or, take().line);
    add(*whole, std::move(left));
    add(*whole, parseAnd());
    left = std::move(whole);
  }
  return left;
}

ExpressionPtr Parser::parseAnd() {
  ExpressionPtr left = parseNot();
  while (isName("and")) {
    ExpressionPtr whole = make(Expression::And, take().line);
    add(*whole, std::move(left));
    add(*whole, parseNot());
    left = std::move(whole);
  }
  return left;
}

ExpressionPtr Parser::parseNot() {
  if (!isName("not"))
    return parseCompare();
  Nested nested(*this);
  ExpressionPtr whole = make(Expression::Not, take().line);
  add(*whole, parseNot());
  return whole;
}

ExpressionPtr Parser::parseCompare() {
  ExpressionPtr left = parseBinary(0), whole;
  for (;;) {
    std::string name;
    int line = current().line;
    for (const char *known : {"==", "!=", "<", "<=", ">", ">="})
      if (isOperator(known))
        name = known;
    if (isName("in"))
      name = "in";
    else if (isName("not") && ahead().kind == Token::Name && ahead().text == "in")
      name = "not in";
    if (name.empty())
      return whole ? std::move(whole) : std::move(left);
    at_ += name == "not in" ? 2 : 1;
    if (!whole) {
      whole = make(Expression::Compare, line);
      add(*whole, std::move(left));
    }
    whole->names.push_back(name);
    add(*whole, parseBinary(0));
  }
}

// From the loosest: + and -, ~, * and its like, **. All group from the left, as in jinja2.
ExpressionPtr Parser::parseBinary(int level) {
  static const std::vector<std::string> operators[] = {{"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"}};
  if (level == 4)
    return parseUnary();
  ExpressionPtr left = parseBinary(level + 1);
  for (;;) {
    const auto &here = operators[level];
    if (current().kind != Token::Operator ||
        std::find(here.begin(), here.end(), current().text) == here.end())
      return left;
    Token token = take();
    ExpressionPtr right = parseBinary(level + 1);
    if (level == 1 && left->kind == Expression::Concatenate && left->name == "~") {
      add(*left, std::move(right)); // a chain of ~ is one node
      continue;
    }
    ExpressionPtr whole = make(level == 1 ? Expression::Concatenate : Expression::Binary, token.line);
    whole->name = token.text;
    add(*whole, std::move(left));
    add(*whole, std::move(right));
    left = std::move(whole);
  }
}

ExpressionPtr Parser::parseUnary(bool withFilters) {
  ExpressionPtr value;
  if (isOperator("-") || isOperator("+")) {
    Nested nested(*this);
    value = make(isOperator("-") ? Expression::Negative : Expression::Positive, take().line);
    add(*value, parseUnary(false));
  } else {
    value = parsePrimary();
  }
  value = parsePostfix(std::move(value));
  return withFilters ? parseFilters(std::move(value)) : std::move(value);
}

ExpressionPtr Parser::parsePrimary() {
  int line = current().line;
  ExpressionPtr constant = make(Expression::Constant, line);
  switch (current().kind) {
  case Token::Name: {
    std::string name = take().text;
    if (name == "true" || name == "True" || name == "false" || name == "False") {
      constant->constant = Value::boolean(name == "true" || name == "True");
    } else if (name == "none" || name == "None") {
      constant->constant = Value::none();
    } else {
      constant->kind = Expression::Name;
      tree_.namesRead.insert(name);
      if (macro_) {
        macro_->readsCaller |= name == "caller";
        macro_->readsNamed |= name == "kwargs";
        macro_->readsRest |= name == "varargs";
      }
      constant->name = std::move(name);
    }
    return constant;
  }
  case Token::String: {
    std::string text;
    while (current().kind == Token::String)
      text += take().text;
    constant->constant = Value::object(Kind::String, std::make_shared<Text>(nullptr, std::move(text), false));
    return constant;
  }
  case Token::Integer: {
    errno = 0;
    constant->constant = Value::integer(std::strtoll(current().text.c_str(), nullptr, 10));
    if (errno)
      bad("an integer is beyond 64 bits: " + current().text);
    ++at_;
    return constant;
  }
  case Token::Float:
    constant->constant = Value::real(std::strtod(take().text.c_str(), nullptr));
    return constant;
  default:
    break;
  }
  if (takeOperator("(")) {
    ExpressionPtr inner = parseTupleOrExpression(true);
    expectOperator(")");
    if (inner->kind == Expression::Concatenate)
      inner->name = "(~)"; // complete: a ~ behind it begins another one
    return inner;
  }
  if (takeOperator("[")) {
    ExpressionPtr list = make(Expression::List, line);
    while (!isOperator("]")) {
      if (!list->operands.empty()) {
        expectOperator(",");
        if (isOperator("]"))
          break;
      }
      add(*list, parseExpression());
    }
    ++at_;
    return list;
  }
  if (isOperator("{"))
    return parseDict();
  unexpected("a value");
}

ExpressionPtr Parser::parseDict() {
  ExpressionPtr dict = make(Expression::Dict, take().line);
  while (!isOperator("}")) {
    if (!dict->operands.empty()) {
      expectOperator(",");
      if (isOperator("}"))
        break;
    }
    add(*dict, parseExpression());
    expectOperator(":");
    add(*dict, parseExpression());
  }
  ++at_;
  return dict;
}

ExpressionPtr Parser::parsePostfix(ExpressionPtr operand) {
  for (;;) {
    if (isOperator(".") || isOperator("["))
      operand = parseSubscript(std::move(operand));
    else if (isOperator("("))
      operand = parseCallOf(std::move(operand));
    else
      return operand;
  }
}

ExpressionPtr Parser::parseSubscript(ExpressionPtr operand) {
  Token token = take();
  if (token.text == ".") {
    if (current().kind == Token::Integer) {
      ExpressionPtr item = make(Expression::Item, token.line);
      add(*item, std::move(operand));
      add(*item, parsePrimary());
      return item;
    }
    ExpressionPtr attribute = make(Expression::Attribute, token.line);
    add(*attribute, std::move(operand));
    attribute->name = expectName();
    return attribute;
  }
  ExpressionPtr parts[3];
  int count = 0;
  bool isSlice = false;
  auto atEnd = [&] { return isOperator("]") || isOperator(":"); };
  if (isOperator("]"))
    unexpected("a value");
  for (; count < 3; ++count) {
    if (!atEnd())
      parts[count] = parseExpression();
    if (count == 2 || !takeOperator(":"))
      break;
    isSlice = true;
  }
  if (isOperator(","))
    bad("an index of several values is not supported");
  expectOperator("]");
  ExpressionPtr whole = make(isSlice ? Expression::Slice : Expression::Item, token.line);
  add(*whole, std::move(operand));
  for (int i = 0; i < (isSlice ? 3 : 1); ++i)
    add(*whole, std::move(parts[i]));
  return whole;
}

std::unique_ptr<CallArguments> Parser::parseArguments() {
  auto arguments = std::make_unique<CallArguments>();
  expectOperator("(");
  for (bool first = true; !isOperator(")"); first = false) {
    if (!first) {
      expectOperator(",");
      if (isOperator(")"))
        break;
    }
    bool rest = arguments->restPositional || arguments->restNamed;
    if (isOperator("*") && !rest) {
      ++at_;
      arguments->restPositional = parseExpression();
    } else if (isOperator("**") && !arguments->restNamed) {
      ++at_;
      arguments->restNamed = parseExpression();
    } else if (current().kind == Token::Name && ahead().kind == Token::Operator && ahead().text == "=" &&
               !arguments->restNamed) {
      std::string name = take().text;
      ++at_;
      for (const auto &[other, value] : arguments->named)
        if (other == name)
          bad("a call gives '" + name + "' twice");
      arguments->named.emplace_back(std::move(name), parseExpression());
    } else if (!rest && arguments->named.empty()) {
      arguments->positional.push_back(parseExpression());
    } else {
      bad("the arguments of a call stand in a wrong order");
    }
  }
  ++at_;
  return arguments;
}

static int depthOf(const CallArguments &arguments) {
  int depth = 0;
  auto see = [&](const ExpressionPtr &value) { depth = std::max(depth, value ? value->depth : 0); };
  for (const ExpressionPtr &value : arguments.positional)
    see(value);
  for (const auto &[name, value] : arguments.named)
    see(value);
  see(arguments.restPositional);
  see(arguments.restNamed);
  return depth;
}

ExpressionPtr Parser::parseCallOf(ExpressionPtr operand) {
  ExpressionPtr call = make(Expression::Call, current().line);
  add(*call, std::move(operand));
  call->arguments = parseArguments();
  deepen(*call, depthOf(*call->arguments));
  return call;
}

ExpressionPtr Parser::parseFilters(ExpressionPtr operand, bool onlyFilters, bool startsInside) {
  for (;;) {
    if (startsInside || isOperator("|")) {
      if (!startsInside)
        ++at_;
      startsInside = false;
      ExpressionPtr filter = make(Expression::Filter, current().line);
      filter->name = expectName();
      add(*filter, std::move(operand));
      if (isOperator("("))
        filter->arguments = parseArguments();
      else
        filter->arguments = std::make_unique<CallArguments>();
      deepen(*filter, depthOf(*filter->arguments));
      operand = std::move(filter);
    } else if (!onlyFilters && isName("is")) {
      operand = parseTest(std::move(operand));
    } else if (!onlyFilters && isOperator("(")) {
      operand = parseCallOf(std::move(operand));
    } else {
      return operand;
    }
  }
}

ExpressionPtr Parser::parseTest(ExpressionPtr operand) {
  int line = take().line;
  bool isNegated = takeName("not");
  ExpressionPtr test = make(Expression::Test, line);
  test->name = expectName();
  add(*test, std::move(operand));
  test->arguments = std::make_unique<CallArguments>();
  bool isWord = current().kind == Token::Name;
  if (isOperator("(")) {
    test->arguments = parseArguments();
  } else if (current().kind == Token::String || current().kind == Token::Integer ||
             current().kind == Token::Float || isOperator("[") || isOperator("{") ||
             (isWord && !isName("else") && !isName("or") && !isName("and"))) {
    if (isName("is"))
      bad("tests cannot stand in a row", "use 'and'");
    test->arguments->positional.push_back(parsePostfix(parsePrimary()));
  }
  deepen(*test, depthOf(*test->arguments));
  if (!isNegated)
    return test;
  ExpressionPtr negated = make(Expression::Not, line);
  add(*negated, std::move(test));
  return negated;
}

} // namespace tessera::jinja
