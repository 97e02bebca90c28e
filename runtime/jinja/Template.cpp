#include "tessera/runtime/jinja/Template.h"

#include "Interpreter.h"

#include <new>

namespace tessera::jinja {

static Failure failure(const char *what, const std::string &name, const TemplateError &error, int line) {
  std::string where = name;
  if (int at = error.line ? error.line : line)
    where += (where.empty() ? "line " : ", line ") + std::to_string(at);
  return {what, where, error.why, error.hint};
}

Result<Json> parseOrderedJson(std::string_view text, const std::string &where) {
  // Depth by counting brackets: nothing is built of what nests too deep.
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString && c == '\\')
      ++i;
    else if (c == '"')
      inString = !inString;
    else if (!inString && (c == '[' || c == '{') && ++depth > Limits::maxValueDepth - 8)
      return Failure{"cannot read JSON", where,
                     "it nests deeper than " + std::to_string(Limits::maxValueDepth - 8) + " levels", ""};
    else if (!inString && (c == ']' || c == '}'))
      --depth;
  }
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (json.is_discarded())
    return Failure{"cannot read JSON", where, "it is not JSON", "check quotes and commas"};
  return json;
}

Result<Template> Template::parse(std::string_view source, const std::string &name) {
  Template made;
  try {
    made.tree_ = parseTree(source, name);
  } catch (const TemplateError &error) {
    return failure("cannot read the template", name, error, 0);
  }
  return made;
}

Result<std::string> Template::render(const Json &context, const std::tm &now, const Limits &limits) const {
  Interpreter interpreter(limits, now);
  try {
    if (!context.is_object())
      fail("what it is given is not an object of names");
    return interpreter.run(*tree_, context);
  } catch (const TemplateError &error) {
    return failure("cannot render the template", tree_->name, error, interpreter.line());
  } catch (const std::bad_alloc &) {
    return failure("cannot render the template", tree_->name, {"there is no memory left", "", 0},
                   interpreter.line());
  }
}

bool Template::reads(std::string_view name) const { return tree_->namesRead.count(name) != 0; }

} // namespace tessera::jinja
