// The text of a template, cut into tokens as jinja2 cuts it with trim_blocks and lstrip_blocks.
#ifndef TESSERA_RUNTIME_JINJA_LEXER_H
#define TESSERA_RUNTIME_JINJA_LEXER_H

#include <string>
#include <string_view>
#include <vector>

namespace tessera::jinja {

struct Token {
  enum Kind {
    Data,
    BlockBegin,
    BlockEnd,
    VariableBegin,
    VariableEnd,
    Name,
    String,
    Integer,
    Float,
    Operator,
    End
  };
  Kind kind;
  std::string text; // Data and String: what it stands for; the others: as written
  int line;
};

// Throws TemplateError. `source` is valid UTF-8. O(bytes).
std::vector<Token> tokenize(std::string_view source);

} // namespace tessera::jinja
#endif
