#include "tessera/runtime/io/LostPages.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <sys/uio.h>
#include <unistd.h>

namespace tessera::io {

namespace {
// A handler may look while another thread writes: `begin` is written last and taken away first, so that a
// range without its message is never seen.
struct Slot {
  std::atomic<bool> taken{false};
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<const char *> message{nullptr};
};
} // namespace

static Slot slots[1024];
static void (*cleanUpFirst)();
static struct sigaction before;

void NotedMapping::note(const void *begin, size_t bytes, const char *message) {
  for (Slot &slot : slots) {
    if (slot.taken.load(std::memory_order_relaxed) || slot.taken.exchange(true))
      continue;
    slot.message = message;
    slot.end = reinterpret_cast<uintptr_t>(begin) + bytes;
    slot.begin = reinterpret_cast<uintptr_t>(begin);
    slot_ = int(&slot - slots);
    return;
  }
}

void NotedMapping::forget() {
  if (slot_ < 0)
    return;
  slots[slot_].begin = 0;
  slots[slot_].taken = false;
  slot_ = -1;
}

const char *lostPageMessage(const void *address) {
  uintptr_t at = reinterpret_cast<uintptr_t>(address);
  for (const Slot &slot : slots)
    if (uintptr_t begin = slot.begin; begin && begin <= at && at < slot.end)
      return slot.message;
  return nullptr;
}

static void onBusError(int, siginfo_t *info, void *) {
  const bool isSent = info->si_code <= 0; // by a process: there is no address
  const char *message = isSent ? nullptr : lostPageMessage(info->si_addr);
  if (!message) { // a touch happens again, and is theirs
    sigaction(SIGBUS, &before, nullptr);
    if (isSent)
      raise(SIGBUS);
    return;
  }
  if (cleanUpFirst)
    cleanUpFirst();
  char first[] = "error: ", last[] = "\n";
  iovec parts[] = {{first, sizeof(first) - 1}, {const_cast<char *>(message), strlen(message)}, {last, 1}};
  (void)!writev(STDERR_FILENO, parts, 3);
  _exit(1);
}

void endOnLostPages(void (*cleanUp)()) {
  cleanUpFirst = cleanUp;
  struct sigaction action = {};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGBUS, &action, &before);
}

} // namespace tessera::io
