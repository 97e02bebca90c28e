#include "Heap.h"
#include "Parser.h"
#include "tessera/runtime/jinja/Characters.h"

#include <algorithm>

namespace tessera::jinja {

std::shared_ptr<const TemplateTree> parseTree(std::string_view source, const std::string &name) {
  if (source.size() > Limits::maxTemplateBytes)
    fail("it is larger than " + std::to_string(Limits::maxTemplateBytes >> 10) + " KiB");
  if (!isValidUtf8(source))
    fail("it is not valid UTF-8");
  auto tree = std::make_shared<TemplateTree>();
  tree->name = name;
  Parser(source, *tree).run();
  return tree;
}

Parser::Nested::Nested(Parser &parser) : parser(parser) {
  if (++parser.nesting_ > Limits::maxNesting) {
    --parser.nesting_;
    parser.bad("it nests deeper than " + std::to_string(Limits::maxNesting) + " levels");
  }
}

void Parser::bad(const std::string &why, const std::string &hint) const {
  throw TemplateError{why, hint, current().line};
}
std::string Parser::describe() const {
  switch (current().kind) {
  case Token::End:
    return "the end of the template";
  case Token::Data:
    return "text";
  case Token::String:
    return "a string";
  default:
    return "'" + current().text + "'";
  }
}
void Parser::unexpected(const std::string &wanted) const { bad(wanted + " is wanted, not " + describe()); }
bool Parser::takeOperator(std::string_view text) { return isOperator(text) && (++at_, true); }
bool Parser::takeName(std::string_view text) { return isName(text) && (++at_, true); }
void Parser::expectOperator(std::string_view text) {
  if (!takeOperator(text))
    unexpected("'" + std::string(text) + "'");
}
std::string Parser::expectName() {
  if (current().kind != Token::Name)
    unexpected("a name");
  return take().text;
}
void Parser::expectBlockEnd() {
  if (current().kind != Token::BlockEnd)
    unexpected("'%}'");
  ++at_;
}

std::unique_ptr<Statement> Parser::make(Statement::Kind kind) const {
  auto statement = std::make_unique<Statement>();
  statement->kind = kind;
  statement->line = current().line;
  return statement;
}

void Parser::run() { tree_.body = parseBody({}); }

Body Parser::parseBody(std::initializer_list<const char *> ends) {
  Nested nested(*this);
  Body body;
  for (;;) {
    switch (current().kind) {
    case Token::Data: {
      body.push_back(make(Statement::Text));
      body.back()->text = take().text;
      break;
    }
    case Token::VariableBegin: {
      body.push_back(make(Statement::Print));
      ++at_;
      body.back()->value = parseTupleOrExpression(false);
      if (current().kind != Token::VariableEnd)
        unexpected("'}}'");
      ++at_;
      break;
    }
    case Token::BlockBegin: {
      ++at_;
      if (current().kind != Token::Name)
        unexpected("the name of a block");
      for (const char *end : ends)
        if (isName(end))
          return body;
      if (auto statement = parseBlock())
        body.push_back(std::move(statement));
      break;
    }
    case Token::End:
      if (ends.size() != 0)
        bad("the template ends within a block: " + std::string(*(ends.end() - 1)) + " is missing");
      return body;
    default:
      unexpected("text");
    }
  }
}

std::unique_ptr<Statement> Parser::parseBlock() {
  auto statement = make(Statement::Scoped);
  std::string name = expectName();
  auto is = [&](const char *other, Statement::Kind kind) {
    statement->kind = kind;
    return name == other;
  };
  if (is("if", Statement::If)) {
    parseIf(*statement);
  } else if (is("for", Statement::For)) {
    parseFor(*statement);
  } else if (is("set", Statement::Set)) {
    parseSet(*statement);
  } else if (is("with", Statement::With)) {
    parseWith(*statement);
  } else if (is("macro", Statement::Macro)) {
    parseMacro(*statement);
  } else if (is("call", Statement::Call)) {
    parseCall(*statement);
  } else if (is("filter", Statement::Filter)) {
    statement->value = parseFilters(nullptr, true, true);
    expectBlockEnd();
    statement->body = parseBody({"endfilter"});
    ++at_;
    expectBlockEnd();
  } else if (is("generation", Statement::Scoped)) {
    // What transformers marks for training: its content is printed.
    expectBlockEnd();
    int loops = std::exchange(loops_, 0);
    statement->body = parseBody({"endgeneration"});
    loops_ = loops;
    ++at_;
    expectBlockEnd();
  } else if (is("print", Statement::Print)) {
    statement->value =
        make(Expression::Concatenate, statement->line); // several are printed one behind another
    do
      add(*statement->value, parseExpression());
    while (takeOperator(","));
    expectBlockEnd();
  } else if (is("break", Statement::Break) || is("continue", Statement::Continue)) {
    if (loops_ == 0)
      bad("'" + name + "' stands outside of a loop");
    expectBlockEnd();
  } else {
    for (const char *known :
         {"include", "import", "from", "extends", "block", "autoescape", "do", "trans", "debug"})
      if (name == known)
        bad("'" + name + "' is not supported in chat templates", "write it without");
    bad("the block '" + name + "' is unknown");
  }
  return statement;
}

void Parser::parseIf(Statement &statement) {
  bool isElse = false;
  do {
    ExpressionPtr condition;
    if (!isElse)
      condition = parseTupleOrExpression(false, false);
    expectBlockEnd();
    if (isElse)
      statement.branches.emplace_back(nullptr, parseBody({"endif"}));
    else
      statement.branches.emplace_back(std::move(condition), parseBody({"elif", "else", "endif"}));
    isElse = isName("else");
  } while (take().text != "endif");
  expectBlockEnd();
}

void Parser::parseFor(Statement &statement) {
  statement.target = parseTarget(false);
  if (!takeName("in"))
    unexpected("'in'");
  statement.value = parseTupleOrExpression(false, false);
  if (takeName("if"))
    statement.condition = parseExpression();
  if (isName("recursive"))
    bad("recursive loops are not supported", "use a macro");
  expectBlockEnd();
  ++loops_;
  statement.body = parseBody({"else", "endfor"});
  --loops_;
  if (take().text == "else") {
    expectBlockEnd();
    statement.otherwise = parseBody({"endfor"});
    ++at_;
  }
  expectBlockEnd();
}

void Parser::parseSet(Statement &statement) {
  statement.target = parseTarget(true);
  if (takeOperator("=")) {
    statement.value = parseTupleOrExpression(false);
    return expectBlockEnd();
  }
  statement.kind = Statement::SetBlock;
  if (isOperator("|"))
    statement.value = parseFilters(nullptr, true);
  expectBlockEnd();
  statement.body = parseBody({"endset"});
  ++at_;
  expectBlockEnd();
}

void Parser::parseWith(Statement &statement) {
  while (current().kind != Token::BlockEnd) {
    if (!statement.assignments.empty())
      expectOperator(",");
    Target target = parseTarget(false, false);
    expectOperator("=");
    statement.assignments.emplace_back(std::move(target), parseExpression());
  }
  expectBlockEnd();
  statement.body = parseBody({"endwith"});
  ++at_;
  expectBlockEnd();
}

void Parser::parseSignature(MacroTree &macro) {
  expectOperator("(");
  while (!isOperator(")")) {
    if (!macro.parameters.empty()) {
      expectOperator(",");
      if (isOperator(")"))
        bad("a name is wanted, not ')'");
    }
    macro.parameters.push_back(expectName());
    const auto &names = macro.parameters;
    if (std::count(names.begin(), names.end(), names.back()) > 1)
      bad("two parameters are named '" + names.back() + "'");
    if (takeOperator("="))
      macro.defaults.push_back(parseExpression());
    else if (!macro.defaults.empty())
      bad("a parameter without a default stands behind one with it");
  }
  ++at_;
}

void Parser::parseMacroBody(MacroTree &macro, const char *end) {
  MacroTree *outer = std::exchange(macro_, &macro);
  int loops = std::exchange(loops_, 0);
  macro.body = parseBody({end});
  macro_ = outer;
  loops_ = loops;
  ++at_;
  expectBlockEnd();
}

void Parser::parseMacro(Statement &statement) {
  statement.macro = std::make_unique<MacroTree>();
  statement.macro->name = expectName();
  parseSignature(*statement.macro);
  expectBlockEnd();
  parseMacroBody(*statement.macro, "endmacro");
}

void Parser::parseCall(Statement &statement) {
  statement.macro = std::make_unique<MacroTree>();
  statement.macro->name = "caller";
  if (isOperator("("))
    parseSignature(*statement.macro);
  statement.value = parseExpression();
  if (statement.value->kind != Expression::Call)
    bad("'call' wants the call of a macro");
  expectBlockEnd();
  parseMacroBody(*statement.macro, "endcall");
}

Target Parser::parseTarget(bool withNamespace, bool withTuple) {
  Target first = parseTargetPart(withNamespace);
  if (!withTuple || !isOperator(","))
    return first;
  Target tuple;
  tuple.parts.push_back(std::move(first));
  while (takeOperator(",")) {
    if (current().kind != Token::Name && !isOperator("("))
      break;
    if (isName("in"))
      break;
    tuple.parts.push_back(parseTargetPart(withNamespace));
  }
  return tuple;
}

Target Parser::parseTargetPart(bool withNamespace) {
  Nested nested(*this);
  if (takeOperator("(")) {
    Target inner = parseTarget(withNamespace);
    expectOperator(")");
    return inner;
  }
  Target target;
  target.name = expectName();
  for (const char *constant : {"true", "false", "none", "True", "False", "None"})
    if (target.name == constant)
      bad("nothing can be assigned to '" + target.name + "'");
  if (withNamespace && takeOperator("."))
    target.attribute = expectName();
  return target;
}

} // namespace tessera::jinja
