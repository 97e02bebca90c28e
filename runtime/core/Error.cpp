#include "tessera/runtime/core/Error.h"

#include <atomic>
#include <pthread.h>
#include <unistd.h>

namespace tessera::runtime {

static std::atomic<bool> ended{false};
static std::atomic<bool (*)()> election{nullptr};

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
