// Tokens to a tree. No recursion goes deeper than Limits::maxNesting.
#ifndef TESSERA_RUNTIME_JINJA_PARSER_H
#define TESSERA_RUNTIME_JINJA_PARSER_H

#include "Lexer.h"
#include "Tree.h"

#include <initializer_list>

namespace tessera::jinja {

class Parser {
public:
  Parser(std::string_view source, TemplateTree &tree) : tokens_(tokenize(source)), tree_(tree) {}
  void run();

private:
  struct Nested { // one level of the parser's recursion
    explicit Nested(Parser &parser);
    ~Nested() { --parser.nesting_; }
    Parser &parser;
  };

  const Token &current() const { return tokens_[at_]; }
  const Token &ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool isOperator(std::string_view text) const {
    return current().kind == Token::Operator && current().text == text;
  }
  bool isName(std::string_view text) const { return current().kind == Token::Name && current().text == text; }
  bool takeOperator(std::string_view text);
  bool takeName(std::string_view text);
  void expectOperator(std::string_view text);
  std::string expectName();
  void expectBlockEnd();
  [[noreturn]] void bad(const std::string &why, const std::string &hint = {}) const;
  [[noreturn]] void unexpected(const std::string &wanted) const;
  std::string describe() const;

  // ParseStatements.cpp. Statements up to a block that begins with one of `ends`, whose name is then current.
  Body parseBody(std::initializer_list<const char *> ends);
  std::unique_ptr<Statement> parseBlock();
  std::unique_ptr<Statement> make(Statement::Kind kind) const;
  void parseIf(Statement &statement);
  void parseFor(Statement &statement);
  void parseSet(Statement &statement);
  void parseWith(Statement &statement);
  void parseMacro(Statement &statement);
  void parseCall(Statement &statement);
  void parseSignature(MacroTree &macro);
  void parseMacroBody(MacroTree &macro, const char *end);
  void parseLoopBody(Statement &statement);
  Target parseTarget(bool withNamespace, bool withTuple = true);
  Target parseTargetPart(bool withNamespace);

  // ParseExpressions.cpp.
  ExpressionPtr parseExpression(bool withCondition = true);
  ExpressionPtr parseTupleOrExpression(bool parenthesized, bool withCondition = true);
  ExpressionPtr parseOr();
  ExpressionPtr parseAnd();
  ExpressionPtr parseNot();
  ExpressionPtr parseCompare();
  ExpressionPtr parseBinary(int level);
  ExpressionPtr parseUnary(bool withFilters = true);
  ExpressionPtr parsePrimary();
  ExpressionPtr parsePostfix(ExpressionPtr operand);
  ExpressionPtr parseFilters(ExpressionPtr operand, bool onlyFilters = false, bool startsInside = false);
  ExpressionPtr parseTest(ExpressionPtr operand);
  ExpressionPtr parseSubscript(ExpressionPtr operand);
  ExpressionPtr parseDict();
  ExpressionPtr parseCallOf(ExpressionPtr operand);
  std::unique_ptr<CallArguments> parseArguments();
  ExpressionPtr make(Expression::Kind kind, int line) const;
  void add(Expression &parent, ExpressionPtr operand);
  void deepen(Expression &parent, int depth);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0, loops_ = 0;
  TemplateTree &tree_;
  MacroTree *macro_ = nullptr; // the innermost one
};

} // namespace tessera::jinja
#endif
