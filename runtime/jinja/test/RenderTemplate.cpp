// render-template TEMPLATE CONTEXT.json: what the template makes of the names in the file, for tests.
// render-template --lines: one case a line on stdin, {"template": TEXT, "context": {...}, "now": SECONDS};
// one result a line on stdout, {"text": ...} or {"error": "..."}. Times are UTC.
#include "tessera/runtime/jinja/Template.h"

#include <fstream>
#include <iostream>
#include <iterator>

using namespace tessera;
using namespace tessera::jinja;

static Result<std::string> render(std::string_view text, const std::string &name, const Json &context,
                                  std::time_t seconds) {
  std::tm now{};
  gmtime_r(&seconds, &now);
  Result<Template> parsed = Template::parse(text, name);
  if (!parsed)
    return parsed.takeFailure();
  return parsed->render(context, now);
}

static int renderLines() {
  for (std::string line; std::getline(std::cin, line);) {
    Result<Json> json = parseOrderedJson(line, "stdin");
    if (!json)
      return std::cerr << "error: " << json.failure().message() << "\n", 1;
    Result<std::string> text = render((*json)["template"].get<std::string>(), "template", (*json)["context"],
                                      json->value("now", int64_t(0)));
    Json answer = text ? Json{{"text", *text}} : Json{{"error", text.failure().message()}};
    std::cout << answer.dump() << "\n" << std::flush;
  }
  return 0;
}

static std::string readFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int main(int count, char **words) {
  if (count == 2 && std::string(words[1]) == "--lines")
    return renderLines();
  if (count != 3)
    return std::cerr << "usage: render-template TEMPLATE CONTEXT.json | render-template --lines\n", 2;
  Result<Json> context = parseOrderedJson(readFile(words[2]), words[2]);
  if (!context)
    return std::cerr << "error: " << context.failure().message() << "\n", 1;
  Result<std::string> text = render(readFile(words[1]), words[1], *context, std::time(nullptr));
  if (!text)
    return std::cerr << "error: " << text.failure().message() << "\n", 1;
  std::cout << *text;
}
