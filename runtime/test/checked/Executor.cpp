#include "Executor.h"
#include "tessera/runtime/core/ShardReader.h"

#include <algorithm>
#include <utility>

namespace tessera::runtime::checked {

// The host may give a stream so much for so long before it waits; peers wait for messages meanwhile.
static constexpr std::chrono::milliseconds patience{2};
static constexpr std::chrono::microseconds pause{20};
static constexpr uint64_t bursts[] = {1, 1, 1, 1, 2, 2, 4, 16};

Executor::Executor(uint64_t seed, int64_t rank, BoardEntry &entry, std::function<void()> onStart)
    : seed_(randomBits(seed, 0, uint64_t(rank))), eager_(seed_ % 4 == 0), burst_(bursts[seed_ / 4 % 8]),
      entry_(entry), thread_([this, rank, onStart = std::move(onStart)] {
        currentRank() = rank;
        onStart();
        loop();
      }) {}

Executor::~Executor() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  thread_.join();
}

int64_t Executor::addStream() {
  std::lock_guard<std::mutex> lock(mutex_);
  queues_.push_back(std::make_unique<Queue>());
  return int64_t(queues_.size()) - 1;
}

void Executor::throwFailure() {
  if (failure_)
    std::rethrow_exception(failure_);
}

void Executor::push(int64_t stream, Task task) {
  std::lock_guard<std::mutex> lock(mutex_);
  throwFailure();
  Queue &queue = *queues_[stream];
  task.key = randomBits(seed_, uint64_t(stream) + 1, queue.given++ / burst_);
  queue.tasks.push_back(std::move(task));
  ++pending_;
  lastPush_ = std::chrono::steady_clock::now();
  work_.notify_one();
}

void Executor::pushRecord(int64_t stream, const std::shared_ptr<EventState> &event) {
  Task task;
  task.passes = event;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    task.place = ++event->recorded;
  }
  push(stream, std::move(task));
}

void Executor::pushWait(int64_t stream, const std::shared_ptr<EventState> &event) {
  Task task;
  task.waitsFor = event;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    task.place = event->recorded;
  }
  push(stream, std::move(task));
}

template <typename F> void Executor::waitUntil(F &&done) {
  std::unique_lock<std::mutex> lock(mutex_);
  ++waiting_;
  work_.notify_one();
  progress_.wait(lock, [&] { return failure_ || done(); });
  --waiting_;
  throwFailure();
}

void Executor::waitForStream(int64_t stream) {
  waitUntil([&] { return queues_[stream]->tasks.empty(); });
}

void Executor::waitForEvent(EventState &event) {
  uint64_t place;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    place = event.recorded;
  }
  waitUntil([&] { return event.passed >= place; });
}

void Executor::loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    if (pending_ == 0 || failure_) {
      work_.wait(lock);
      continue;
    }
    if (!eager_ && waiting_ == 0 && std::chrono::steady_clock::now() < lastPush_ + patience) {
      work_.wait_until(lock, lastPush_ + patience);
      continue;
    }
    if (!step(lock)) // all that is left waits for other ranks
      work_.wait_for(lock, pause);
  }
}

bool Executor::step(std::unique_lock<std::mutex> &lock) {
  std::vector<Queue *> ready;
  for (auto &queue : queues_)
    if (!queue->tasks.empty()) {
      const Task &head = queue->tasks.front();
      if (!head.waitsFor || head.waitsFor->passed >= head.place)
        ready.push_back(queue.get());
    }
  std::sort(ready.begin(), ready.end(),
            [](Queue *a, Queue *b) { return a->tasks.front().key > b->tasks.front().key; });
  for (Queue *queue : ready) {
    Task &head = queue->tasks.front(); // stays where it is while others are added behind it
    bool done = true;
    lock.unlock();
    try {
      if (head.run)
        std::exchange(head.run, nullptr)();
      if (head.post)
        done = head.post->advance(/*mayBlock=*/false);
    } catch (...) {
      lock.lock();
      failure_ = std::current_exception();
      progress_.notify_all();
      return true;
    }
    lock.lock();
    if (!done)
      continue;
    if (head.passes)
      head.passes->passed = std::max(head.passes->passed, head.place);
    queue->tasks.pop_front();
    --pending_;
    entry_.progress.fetch_add(1, std::memory_order_relaxed);
    progress_.notify_all();
    return true;
  }
  return false;
}

} // namespace tessera::runtime::checked
