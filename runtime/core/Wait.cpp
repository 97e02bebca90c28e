#include "tessera/runtime/core/Wait.h"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tessera::runtime {

static std::atomic<bool> spinAllowed{false};

int availableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return CPU_COUNT(&set);
  long online = sysconf(_SC_NPROCESSORS_ONLN); // more CPUs than a cpu_set_t holds
  return online > 0 ? int(online) : 1;
}

void setBusyThreads(int threads) { spinAllowed = threads <= availableCores(); }
bool maySpin() { return spinAllowed.load(std::memory_order_relaxed); }

static int64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t(1000000000) + now.tv_nsec;
}

void WaitWord::waitWhile(uint32_t old) {
  if (maySpin()) {
    // The clock is looked at rarely: a pause is some 10 to 40 ns.
    for (int64_t end = 0;;) {
      for (int i = 0; i < 256; ++i) {
        if (word_.load(std::memory_order_acquire) != old)
          return;
        cpuRelax();
      }
      int64_t now = nanoseconds();
      if (end == 0)
        end = now + 100000;
      else if (now > end)
        break;
    }
  }
  sleepers_.fetch_add(1);
  // seq_cst on both sides: either the waker sees the sleeper, or the sleeper sees the new word.
  while (word_.load() == old)
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word_), FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
  sleepers_.fetch_sub(1);
}

void WaitWord::wakeSleepers() {
  if (sleepers_.load() != 0)
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word_), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr,
            0);
}

void WaitWord::store(uint32_t value) {
  word_.store(value);
  wakeSleepers();
}

uint32_t WaitWord::add(uint32_t delta, bool wake) {
  uint32_t value = word_.fetch_add(delta) + delta;
  if (wake)
    wakeSleepers();
  return value;
}

} // namespace tessera::runtime
