// Events of a file for Perfetto and chrome://tracing, as text: processes, which are ranks, have rows, and
// these slices.
#ifndef TESSERA_RUNTIME_APP_TRACEEVENTS_H
#define TESSERA_RUNTIME_APP_TRACEEVENTS_H

#include <cstdint>
#include <functional>
#include <string>

namespace tessera::runtime {

class TraceEvents {
public:
  using Put = std::function<void(const std::string &)>;
  // `isFirst`: nothing stands in the file before it.
  TraceEvents(bool isFirst, Put put) : isFirst_(isFirst), put_(std::move(put)) {}

  void process(int64_t rank, const std::string &name);
  void row(int64_t rank, int64_t row, const std::string &name);
  // Nanoseconds. `arguments` is a JSON object.
  void slice(int64_t rank, int64_t row, int64_t begin, int64_t end, const char *category,
             const std::string &name, const std::string &arguments);

  static constexpr const char *fileBegin = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n",
                              *fileEnd = "\n]}\n";

private:
  void event(const std::string &text);
  bool isFirst_;
  Put put_;
};

} // namespace tessera::runtime
#endif
