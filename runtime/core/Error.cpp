#include "tessera/runtime/core/Error.h"

#include <atomic>
#include <new>
#include <pthread.h>
#include <system_error>
#include <unistd.h>

namespace tessera::runtime {

static std::atomic<bool> ended{false};
static std::atomic<bool (*)()> election{nullptr};

std::string messageOf(const std::exception &exception) {
  if (dynamic_cast<const std::bad_alloc *>(&exception))
    return Error("cannot allocate memory", "this process", "the system has no more for it",
                 "allow it more memory, or compile for a larger mesh or a smaller --batch")
        .what();
  if (auto *system = dynamic_cast<const std::system_error *>(&exception))
    return Error("cannot go on", "this process", system->code().message(), "allow it more memory and threads")
        .what();
  return exception.what();
}

void setReportElection(bool (*mayReport)()) { election = mayReport; }

void endRun(const std::string &message) {
  if (ended.exchange(true)) // another thread is at it: wait for its _exit
    for (;;)
      pause();
  bool (*mayReport)() = election;
  if (!mayReport || mayReport()) {
    std::string line = "error: " + message + "\n";
    // One write: lines of several processes do not mix.
    for (size_t done = 0; done < line.size();) {
      ssize_t n = write(STDERR_FILENO, line.data() + done, line.size() - done);
      if (n <= 0)
        break;
      done += size_t(n);
    }
  }
  _exit(1);
}

} // namespace tessera::runtime
