// JSON texts from outside, read with limits.
#ifndef TESSERA_RUNTIME_IO_JSON_H
#define TESSERA_RUNTIME_IO_JSON_H

#include "tessera/runtime/Result.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace tessera::io {

// Parses `text`. Refuses bad JSON (naming line and column), nesting deeper than 64, a name that occurs twice
// in one object (two contradictory values), more than 2^22 values, each of which takes many times its bytes,
// and texts over 256 MiB. `where` goes into the Failure. Never throws. The result is any JSON value: check
// its type before reading (nlohmann's get<T>() throws on a wrong type).
Result<nlohmann::json> parseJson(std::string_view text, const std::string &where);

// Feeds `text` to `handler` (a SAX handler that returns false after setting its own failure). False from the
// handler or bad JSON gives false; `handler.failure` is then set. See Safetensors.cpp.
struct JsonHandler : nlohmann::json_sax<nlohmann::json> {
  std::string where;
  std::string what = "cannot read JSON";
  std::optional<Failure> failure;

  bool fail(std::string why, std::string hint = {}) {
    failure = Failure{what, where, std::move(why), std::move(hint)};
    return false;
  }
  bool parse_error(size_t position, const std::string &lastToken,
                   const nlohmann::detail::exception &error) override;
};
bool readJson(std::string_view text, JsonHandler &handler);

// Builds the value of a text, with parseJson's limits. A derived handler may take events for itself and pass
// on the rest.
class JsonBuilder : public JsonHandler {
public:
  static constexpr size_t maxDepth = 64, maxValues = size_t(1) << 22;
  nlohmann::json result;

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t &) override { return add(value) != nullptr; }
  bool string(string_t &value) override { return add(std::move(value)) != nullptr; }
  bool binary(binary_t &) override { return fail("binary values are not JSON"); }
  bool start_object(size_t) override { return open(nlohmann::json::object()); }
  bool key(string_t &name) override;
  bool end_object() override { return open_.pop_back(), true; }
  bool start_array(size_t) override { return open(nlohmann::json::array()); }
  bool end_array() override { return open_.pop_back(), true; }

protected:
  size_t depth() const { return open_.size(); }
  const std::string &lastKey() const { return key_; } // of the innermost object, until a value comes

private:
  nlohmann::json *add(nlohmann::json value); // null if it is one too many
  bool open(nlohmann::json container);
  std::vector<nlohmann::json *>
      open_; // containers from the outermost; nothing is added to one while a later one is open
  std::string key_;
  size_t values_ = 0;
};

} // namespace tessera::io
#endif
