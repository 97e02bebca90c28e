#include "TraceEvents.h"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

namespace tessera::runtime {

// Microseconds, to the nanosecond.
static std::string microseconds(int64_t nanoseconds) {
  char text[40];
  snprintf(text, sizeof text, "%s%lld.%03lld", nanoseconds < 0 ? "-" : "",
           (long long)(std::abs(nanoseconds) / 1000), (long long)(std::abs(nanoseconds) % 1000));
  return text;
}

static std::string quoted(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void TraceEvents::event(const std::string &text) {
  put_((std::exchange(isFirst_, false) ? "" : ",\n") + text);
}

void TraceEvents::process(int64_t rank, const std::string &name) {
  event("{\"ph\":\"M\",\"pid\":" + std::to_string(rank) +
        ",\"name\":\"process_name\",\"args\":{\"name\":" + quoted(name) + "}}");
}

void TraceEvents::row(int64_t rank, int64_t row, const std::string &name) {
  const std::string head =
      "{\"ph\":\"M\",\"pid\":" + std::to_string(rank) + ",\"tid\":" + std::to_string(row);
  event(head + ",\"name\":\"thread_name\",\"args\":{\"name\":" + quoted(name) + "}}");
  event(head + ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":" + std::to_string(row) + "}}");
}

void TraceEvents::slice(int64_t rank, int64_t row, int64_t begin, int64_t end, const char *category,
                        const std::string &name, const std::string &arguments) {
  event("{\"ph\":\"X\",\"pid\":" + std::to_string(rank) + ",\"tid\":" + std::to_string(row) +
        ",\"ts\":" + microseconds(begin) + ",\"dur\":" + microseconds(end - begin) + ",\"cat\":\"" +
        category + "\",\"name\":" + quoted(name) + ",\"args\":" + arguments + "}");
}

} // namespace tessera::runtime
