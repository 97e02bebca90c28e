// A line of text built without allocation or locks: for signal handlers.
#ifndef TESSERA_RUNTIME_CORE_SIGNALTEXT_H
#define TESSERA_RUNTIME_CORE_SIGNALTEXT_H

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unistd.h>

namespace tessera::runtime {

class SignalText {
public:
  void add(const char *piece) {
    size_t n = strlen(piece);
    if (n > sizeof(text_) - size_)
      n = sizeof(text_) - size_;
    memcpy(text_ + size_, piece, n);
    size_ += n;
  }
  void add(int64_t number) {
    char digits[24];
    size_t at = sizeof(digits) - 1;
    digits[at] = 0;
    do
      digits[--at] = char('0' + number % 10);
    while ((number /= 10) > 0);
    add(digits + at);
  }
  void print() const { (void)!write(STDERR_FILENO, text_, size_); }

private:
  char text_[768];
  size_t size_ = 0;
};

// Of the signals that end a run.
inline const char *signalName(int signal) {
  static constexpr struct {
    int number;
    const char *name;
  } names[] = {{SIGINT, "SIGINT"}, {SIGHUP, "SIGHUP"}, {SIGTERM, "SIGTERM"}};
  for (const auto &one : names)
    if (one.number == signal)
      return one.name;
  return "a signal";
}

} // namespace tessera::runtime
#endif
