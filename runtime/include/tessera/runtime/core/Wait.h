// Waiting for a word to change: spin a little where a core is to spare, then sleep in the kernel (futex).
#ifndef TESSERA_RUNTIME_CORE_WAIT_H
#define TESSERA_RUNTIME_CORE_WAIT_H

#include <atomic>
#include <cstdint>

namespace tessera::runtime {

inline void cpuRelax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Threads that this process keeps busy. Spinning is allowed while they all fit on the cores this process may
// use; otherwise a spinning thread would only keep the thread it waits for from running.
void setBusyThreads(int threads);
bool maySpin();
// Cores this process may run on (its affinity mask).
int availableCores();

// A 32-bit word that threads of one process wait on.
class WaitWord {
public:
  uint32_t load() const { return word_.load(std::memory_order_acquire); }

  // Returns once the word differs from `old`. Spins for about 100 us first if maySpin().
  void waitWhile(uint32_t old);

  // Sets the word (release) and wakes who sleeps on it. One system call only if somebody sleeps.
  void store(uint32_t value);
  // Adds `delta`, returns the new value; wakes if `wake`.
  uint32_t add(uint32_t delta, bool wake = true);
  void wakeSleepers();

private:
  alignas(64) std::atomic<uint32_t> word_{0};
  std::atomic<uint32_t> sleepers_{0};
};

} // namespace tessera::runtime
#endif
