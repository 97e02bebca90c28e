// Renders templates in tests.
#ifndef TESSERA_RUNTIME_JINJA_TEST_TESTTEMPLATE_H
#define TESSERA_RUNTIME_JINJA_TEST_TESTTEMPLATE_H

#include "tessera/runtime/jinja/Template.h"

#include <gtest/gtest.h>

namespace tessera::jinja::test {

// The text, or "error: ..." in one line.
inline std::string render(std::string_view source, const Json &context = Json::object(),
                          const Limits &limits = {}) {
  auto parsed = Template::parse(source, "t");
  if (!parsed)
    return "error: " + parsed.failure().message();
  std::tm now{};
  now.tm_year = 125, now.tm_mon = 10, now.tm_mday = 26;
  auto text = parsed->render(context, now, limits);
  return text ? *text : "error: " + text.failure().message();
}

inline bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace tessera::jinja::test
#endif
