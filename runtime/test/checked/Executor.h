// Runs the tasks of a device's streams on a thread of its own: late, and in an order drawn from a seed.
#ifndef TESSERA_RUNTIME_TEST_CHECKED_EXECUTOR_H
#define TESSERA_RUNTIME_TEST_CHECKED_EXECUTOR_H

#include "tessera/runtime/core/Board.h"
#include "tessera/runtime/device/Stream.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera::runtime::checked {

// Places in streams: how often an event was recorded, and how many of those places were passed. Guarded by
// the executor.
struct EventState {
  uint64_t recorded = 0, passed = 0;
};

// A function, and then a task to be advanced until done; or an event to pass; or an event to wait for.
struct Task {
  std::function<void()> run;
  std::unique_ptr<StreamTask> post;
  std::shared_ptr<EventState> passes, waitsFor;
  uint64_t place = 0; // of the event
  uint64_t key = 0;
};

class Executor {
public:
  Executor(uint64_t seed, int64_t rank, BoardEntry &entry, std::function<void()> onStart);
  ~Executor(); // what is left is not run

  int64_t addStream();
  // Throws what a task threw before.
  void push(int64_t stream, Task task);
  void pushRecord(int64_t stream, const std::shared_ptr<EventState> &event);
  void pushWait(int64_t stream, const std::shared_ptr<EventState> &event);
  // The host waits. Throws what a task threw.
  void waitForStream(int64_t stream);
  void waitForEvent(EventState &event);

private:
  struct Queue {
    std::deque<Task> tasks;
    uint64_t given = 0;
  };
  template <typename F> void waitUntil(F &&done);
  void throwFailure();
  void loop();
  // Runs one task, or goes on with one; false if none can go on now.
  bool step(std::unique_lock<std::mutex> &lock);

  uint64_t seed_;
  bool eager_;     // runs tasks as they come, in place of when somebody waits
  uint64_t burst_; // so many tasks of a stream in a row have one key
  BoardEntry &entry_;
  std::mutex mutex_;
  std::condition_variable work_, progress_;
  std::vector<std::unique_ptr<Queue>> queues_;
  int64_t pending_ = 0, waiting_ = 0;
  std::chrono::steady_clock::time_point lastPush_;
  std::exception_ptr failure_;
  bool stop_ = false;
  std::thread thread_;
};

} // namespace tessera::runtime::checked
#endif
