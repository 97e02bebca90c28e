// The threads of one rank: the caller and size() - 1 workers, for short parallel sections.
#ifndef TESSERA_RUNTIME_CORE_THREADPOOL_H
#define TESSERA_RUNTIME_CORE_THREADPOOL_H

#include "tessera/runtime/core/Wait.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace tessera::runtime {

class ThreadPool {
public:
  using Task = void (*)(void *context, int part);

  // `onStart` runs first on every worker thread; the constructor waits for it, and throws what one of them
  // threw. Throws Error if the system has not that many threads.
  explicit ThreadPool(int size, std::function<void()> onStart = nullptr);
  ~ThreadPool(); // joins
  ThreadPool(const ThreadPool &) = delete;

  int size() const { return int(workers_.size()) + 1; }

  // Calls task(context, part) once for every part in [0, parts), parts <= size(); returns when all are done,
  // and throws what the first of those that failed threw.
  // Each worker has its part, and the caller takes over parts whose worker has not begun (the system may have
  // given its core to another process). Only the owning thread may call. Nearly free for parts == 1; 1 to 2
  // us while workers spin.
  void run(Task task, void *context, int parts);

  // The same for any callable f(int part).
  template <typename F> void parallel(int parts, F &&f) {
    run([](void *context, int part) { (*static_cast<std::remove_reference_t<F> *>(context))(part); }, &f,
        parts);
  }

private:
  // One state a worker. The caller bumps `start`; whoever moves `claimed` up to it runs the part.
  struct WorkerState {
    WaitWord start;
    std::atomic<uint32_t> claimed{0};
  };
  bool claim(WorkerState &state, uint32_t turn) {
    uint32_t before = turn - 1;
    return state.claimed.compare_exchange_strong(before, turn);
  }
  bool prepare() noexcept; // false if onStart failed
  void work(int part);
  void runPart(Task task, void *context, int part) noexcept;
  void waitForAll(); // throws what the first that failed threw
  void stop();

  std::unique_ptr<WorkerState[]> workerStates_;
  std::function<void()> onStart_;
  std::vector<std::thread> workers_;
  alignas(64) Task task_ = nullptr;
  void *context_ = nullptr;
  WaitWord pending_; // workers not yet prepared; then parts not yet done
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_; // written by whoever set failed_, read by the caller once pending_ is 0
};

// Contiguous share `part` of [0, count) among `parts`, sizes differing by at most one.
struct Range {
  int64_t begin = 0, end = 0;
};
inline Range splitRange(int64_t count, int64_t parts, int64_t part) {
  int64_t size = count / parts, rest = count % parts;
  int64_t begin = part * size + (part < rest ? part : rest);
  return {begin, begin + size + (part < rest ? 1 : 0)};
}

} // namespace tessera::runtime
#endif
