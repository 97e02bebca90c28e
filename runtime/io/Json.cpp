#include "tessera/runtime/io/Json.h"

#include <unordered_set>

namespace tessera::io {

bool JsonHandler::parse_error(size_t, const std::string &, const nlohmann::detail::exception &error) {
  // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while ... - reason; last read: '..'"
  std::string text = error.what();
  if (size_t close = text.find("] "); close != std::string::npos)
    text.erase(0, close + 2);
  if (size_t tail = text.find("; "); tail != std::string::npos)
    text.erase(tail);
  return fail("not valid JSON: " + text, "is the file whole?");
}

bool readJson(std::string_view text, JsonHandler &handler) {
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &handler))
    return true;
  if (!handler.failure)
    handler.fail("not valid JSON");
  return false;
}

namespace {
// Checks what the parser itself does not: depth and repeated names.
struct LimitChecker : JsonHandler {
  static constexpr size_t maxDepth = 64;
  size_t depth = 0;
  std::vector<std::unordered_set<std::string>> names; // of the open objects

  bool enter() {
    return ++depth <= maxDepth || fail("nested deeper than " + std::to_string(maxDepth) + " levels");
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override {
    names.emplace_back();
    return enter();
  }
  bool key(string_t &name) override {
    return names.back().insert(name).second || fail("the name \"" + name + "\" occurs twice in one object");
  }
  bool end_object() override {
    names.pop_back();
    --depth;
    return true;
  }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override {
    --depth;
    return true;
  }
};
} // namespace

Result<nlohmann::json> parseJson(std::string_view text, const std::string &where) {
  LimitChecker checker;
  checker.where = where;
  if (text.size() > (size_t(256) << 20)) {
    checker.fail("larger than 256 MiB");
    return *checker.failure;
  }
  if (!readJson(text, checker))
    return *checker.failure;
  return nlohmann::json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
}

} // namespace tessera::io
