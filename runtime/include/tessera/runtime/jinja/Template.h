// Jinja templates as chat templates use them: jinja2's language with the settings of transformers
// (trim_blocks, lstrip_blocks, loop controls, an immutable sandbox, `tojson` without escapes), bounded in
// time and memory. docs/ChatTemplates.md says what is supported and what is refused.
#ifndef TESSERA_RUNTIME_JINJA_TEMPLATE_H
#define TESSERA_RUNTIME_JINJA_TEMPLATE_H

#include "tessera/runtime/Result.h"

#include <cstdint>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tessera::jinja {

// What a template may use. Whatever its text and its data are, a template ends within these, with a Failure.
struct Limits {
  static constexpr size_t maxTemplateBytes = size_t(256) << 10;
  static constexpr int maxNesting = 150;      // of brackets, operators, and blocks in the text of a template
  static constexpr int maxDepth = 1000;       // of nodes under evaluation at once, through all macros
  static constexpr size_t maxArguments = 256; // of one call
  static constexpr int maxValueDepth = 80;    // of lists in lists
  static constexpr int64_t maxRange = 100000; // elements of range(), as jinja2's sandbox has it

  uint64_t maxSteps = 50'000'000;           // a node evaluated, or 64 bytes moved
  size_t maxValueBytes = size_t(256) << 20; // of all values alive at once
  size_t maxOutputBytes = size_t(16) << 20;
};

// Objects keep the order of their names, as Python's dictionaries do.
using Json = nlohmann::ordered_json;

// The JSON value of `text`. Refuses what io::parseJson refuses, but takes a name that occurs twice as Python
// does: the last one counts.
Result<Json> parseOrderedJson(std::string_view text, const std::string &where);

struct TemplateTree;

// A parsed template. Immutable; may be used by many threads.
class Template {
public:
  // `name` stands in errors: "/m/chat_template.jinja". Cost: O(bytes of `source`).
  static Result<Template> parse(std::string_view source, const std::string &name);

  // The text that the template makes of the names in `context`, an object. `now` is what `strftime_now`
  // tells. Fails, with the line, where jinja2 would raise an exception, where the template itself does
  // (`raise_exception`), on what is not supported, and beyond `limits`.
  Result<std::string> render(const Json &context, const std::tm &now, const Limits &limits = {}) const;

  // Whether the template reads a variable of this name anywhere.
  bool reads(std::string_view name) const;

private:
  std::shared_ptr<const TemplateTree> tree_;
};

} // namespace tessera::jinja
#endif
