#include "tessera/runtime/core/Error.h"

#include <atomic>
#include <new>
#include <pthread.h>
#include <sys/uio.h>
#include <system_error>
#include <unistd.h>

namespace tessera::runtime {

static std::atomic<bool> ended{false};
static std::atomic<bool (*)()> election{nullptr};
static std::atomic<EndHook> endHook{nullptr};

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

EndHook setEndHook(EndHook hook) { return endHook.exchange(hook); }

bool claimEnd() {
  static thread_local bool mine = false;
  if (!ended.exchange(true))
    mine = true;
  return mine;
}

void stopIfEnding() {
  if (ended.load(std::memory_order_relaxed) && !claimEnd())
    for (;;)
      pause();
}

// Allocates nothing: there may be nothing left.
[[noreturn]] static void printAndEnd(const char *message, size_t length) {
  if (!claimEnd()) // wait for the other thread's _exit
    for (;;)
      pause();
  bool (*mayReport)() = election;
  if (!mayReport || mayReport()) {
    // One write: lines of several processes do not mix.
    char first[] = "error: ", last[] = "\n";
    iovec parts[] = {{first, sizeof(first) - 1}, {const_cast<char *>(message), length}, {last, 1}};
    ssize_t written = writev(STDERR_FILENO, parts, 3);
    (void)written;
  }
  if (void (*hook)() = endHook)
    hook();
  _exit(1);
}

void endRun(const std::string &message) { printAndEnd(message.data(), message.size()); }

void endRun(const std::exception &exception) {
  try {
    endRun(messageOf(exception));
  } catch (const std::exception &) {
    constexpr char message[] =
        "cannot allocate memory (this process): the system has no more for it; allow it more "
        "memory, or compile for a larger mesh or a smaller --batch";
    printAndEnd(message, sizeof(message) - 1);
  }
}

} // namespace tessera::runtime
