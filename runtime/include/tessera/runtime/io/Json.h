// JSON texts from outside, read with limits.
#ifndef TESSERA_RUNTIME_IO_JSON_H
#define TESSERA_RUNTIME_IO_JSON_H

#include "tessera/runtime/Result.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace tessera::io {

// Parses `text`. Refuses bad JSON (naming line and column), nesting deeper than 64, a name that occurs twice in one object
// (two contradictory values), and texts over 256 MiB. `where` goes into the Failure. Never throws.
// The result is any JSON value: check its type before reading (nlohmann's get<T>() throws on a wrong type).
Result<nlohmann::json> parseJson(std::string_view text, const std::string &where);

// Feeds `text` to `handler` (a SAX handler that returns false after setting its own failure). False from the handler or bad
// JSON gives false; `handler.failure` is then set. See Safetensors.cpp.
struct JsonHandler : nlohmann::json_sax<nlohmann::json> {
  std::string where;
  std::string what = "cannot read JSON";
  std::optional<Failure> failure;

  bool fail(std::string why, std::string hint = {}) {
    failure = Failure{what, where, std::move(why), std::move(hint)};
    return false;
  }
  bool parse_error(size_t position, const std::string &lastToken, const nlohmann::detail::exception &error) override;
};
bool readJson(std::string_view text, JsonHandler &handler);

} // namespace tessera::io
#endif
