#include "tessera/runtime/core/ThreadPool.h"

#include "tessera/runtime/core/Board.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace tessera::runtime {

ThreadPool::ThreadPool(int size, std::function<void()> onStart)
    : workerStates_(new WorkerState[std::max(size - 1, 0)]), onStart_(std::move(onStart)) {
  workers_.reserve(size_t(std::max(size - 1, 0)));
  pending_.store(uint32_t(std::max(size - 1, 0)));
  try {
    for (int part = 1; part < size; ++part)
      workers_.emplace_back([this, part, rank = currentRank()] {
        currentRank() = rank;
        if (prepare())
          work(part);
      });
  } catch (const std::exception &e) {
    auto *system = dynamic_cast<const std::system_error *>(&e);
    std::string why = std::to_string(workers_.size() + 1) + " of " + std::to_string(size) +
                      " could be started: " + (system ? system->code().message() : "no memory is left");
    stop(); // those that run wait for work that never comes
    throw Error(
        "cannot start threads", "rank " + std::to_string(std::max<int64_t>(currentRank(), 0)), why,
        "use fewer --threads, start one process a rank with mpirun, or allow more memory and threads");
  }
  try {
    waitForAll();
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

// A last turn without a task. Whoever claims it ends: a flag beside the turns could be read before it is set,
// and this turn then be taken for one whose task is long gone.
void ThreadPool::stop() {
  task_ = nullptr;
  for (size_t i = 0; i < workers_.size(); ++i)
    workerStates_[i].start.add(1);
  for (std::thread &worker : workers_)
    worker.join();
}

// What a worker meets here is the constructor's to throw: a thread has nobody who would catch it.
bool ThreadPool::prepare() noexcept {
  bool prepared = true;
  try {
    if (onStart_)
      onStart_();
  } catch (...) {
    prepared = false;
    if (!failed_.exchange(true))
      failure_ = std::current_exception();
  }
  pending_.add(uint32_t(-1));
  return prepared;
}

void ThreadPool::work(int part) {
  WorkerState &state = workerStates_[part - 1];
  for (uint32_t seen = 0;;) {
    state.start.waitWhile(seen);
    seen = state.start.load();
    // Turns may have passed without us. A claim holds the caller in its turn, so task and context stand still
    // after it.
    if (!claim(state, seen))
      continue;
    if (!task_)
      return;
    runPart(task_, context_, part);
    // The caller needs to be woken by the last part only.
    if (pending_.add(uint32_t(-1), /*wake=*/false) == 0)
      pending_.wakeSleepers();
  }
}

// A failure must not unwind a worker, nor the caller while workers still use its context.
void ThreadPool::runPart(Task task, void *context, int part) noexcept {
  try {
    task(context, part);
  } catch (...) {
    if (!failed_.exchange(true))
      failure_ = std::current_exception();
  }
}

void ThreadPool::run(Task task, void *context, int parts) {
  if (parts <= 1) {
    task(context, 0);
    return;
  }
  task_ = task;
  context_ = context;
  pending_.store(uint32_t(parts - 1));
  for (int part = 1; part < parts; ++part)
    workerStates_[part - 1].start.add(1);
  runPart(task, context, 0);
  for (int part = 1; part < parts; ++part) {
    WorkerState &state = workerStates_[part - 1];
    if (!claim(state, state.start.load()))
      continue;
    runPart(task, context, part);
    pending_.add(uint32_t(-1), /*wake=*/false);
  }
  waitForAll();
}

void ThreadPool::waitForAll() {
  for (uint32_t left; (left = pending_.load()) != 0;)
    pending_.waitWhile(left);
  if (failed_.load(std::memory_order_relaxed)) { // ordered by pending_
    failed_ = false;
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

} // namespace tessera::runtime
