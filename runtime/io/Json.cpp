#include "tessera/runtime/io/Json.h"

namespace tessera::io {

bool JsonHandler::parse_error(size_t, const std::string &, const nlohmann::detail::exception &error) {
  // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while ... - reason; last
  // read: '..'"
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

nlohmann::json *JsonBuilder::add(nlohmann::json value) {
  if (++values_ > maxValues)
    return fail("has more than " + std::to_string(maxValues) + " values"), nullptr;
  if (open_.empty())
    return result = std::move(value), &result;
  nlohmann::json &container = *open_.back();
  if (container.is_array())
    return container.push_back(std::move(value)), &container.back();
  nlohmann::json &member = container[key_];
  return member = std::move(value), &member;
}

bool JsonBuilder::open(nlohmann::json container) {
  if (depth() >= maxDepth)
    return fail("nested deeper than " + std::to_string(maxDepth) + " levels");
  nlohmann::json *added = add(std::move(container));
  if (added)
    open_.push_back(added);
  return added != nullptr;
}

bool JsonBuilder::key(string_t &name) {
  if (open_.back()->contains(name))
    return fail("the name \"" + name + "\" occurs twice in one object");
  key_ = std::move(name);
  return true;
}

Result<nlohmann::json> parseJson(std::string_view text, const std::string &where) {
  JsonBuilder builder;
  builder.where = where;
  if (text.size() > (size_t(256) << 20))
    builder.fail("larger than 256 MiB");
  else if (readJson(text, builder))
    return std::move(builder.result);
  return *builder.failure;
}

} // namespace tessera::io
