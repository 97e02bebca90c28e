#include "Terminal.h"
#include "tessera/runtime/core/Error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <unistd.h>

namespace tessera::runtime {

static Error cannotWriteOutput() {
  return Error("cannot write", "standard output", strerror(errno), "make room there, or write elsewhere");
}

void StandardOutput::write(std::string_view text) {
  if (text.empty() || isGone_)
    return;
  atLineStart_ = text.back() == '\n';
  int32_t before = entry_ ? entry_->activity.exchange(int32_t(Activity::Outside)) : 0;
  while (!text.empty()) {
    ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(size_t(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd ready = {STDOUT_FILENO, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (errno == EPIPE) {
      isGone_ = true;
      break;
    } else if (errno != EINTR) {
      throw cannotWriteOutput();
    }
  }
  if (entry_)
    entry_->activity = before;
}

void StandardOutput::freshLine() {
  if (!atLineStart_)
    write("\n");
}

void StandardOutput::close() {
  if (::close(STDOUT_FILENO) != 0 && errno != EBADF)
    throw cannotWriteOutput();
}

void logLine(const std::string &text) {
  std::string line = text + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

bool movesCursor(int stream) {
  const char *kind = getenv("TERM");
  return isatty(stream) && !(kind && strcmp(kind, "dumb") == 0);
}

ProgressBar::ProgressBar(std::string label, int64_t total)
    : label_(std::move(label)), total_(total), terminal_(movesCursor(STDERR_FILENO)) {
  draw();
}

ProgressBar::~ProgressBar() {
  if (terminal_)
    (void)!::write(STDERR_FILENO, "\r\033[K", 4);
}

void ProgressBar::advance(int64_t by) {
  done_ += by;
  draw();
}

void ProgressBar::draw() {
  int percent = total_ > 0 ? int(std::min<int64_t>(100, done_ * 100 / total_)) : 100;
  if (!terminal_ || percent == percent_)
    return;
  percent_ = percent;
  std::string line = "\r" + label_ + " [" + std::string(percent / 4, '#') +
                     std::string(25 - percent / 4, '.') + "] " + std::to_string(percent) + "%\033[K";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

} // namespace tessera::runtime
