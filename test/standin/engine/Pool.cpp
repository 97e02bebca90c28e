#include "Pool.h"

#include <algorithm>
#include <chrono>

namespace standin {

// Never taken down: a driver's threads may launch while the process ends.
Pool &Pool::get() {
  static Pool *pool = new Pool;
  return *pool;
}

Pool::Pool() {
  unsigned count = std::min(std::thread::hardware_concurrency(), 8u);
  for (unsigned i = 1; i < count; ++i) {
    threads.emplace_back([this] { serve(); });
    threads.back().detach();
  }
}

void Pool::serve() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    wanted.wait(lock, [&] { return !jobs.empty(); });
    Job *job = jobs.front();
    ++job->helpers;
    lock.unlock();
    (*job->work)(~0u);
    lock.lock();
    // What this thread found exhausted, others need not try.
    jobs.erase(std::remove(jobs.begin(), jobs.end(), job), jobs.end());
    if (--job->helpers == 0)
      ended.notify_all();
  }
}

void Pool::run(Launch &launch, const std::function<void(uint32_t)> &work) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  work(1);
  uint32_t left = launch.blockCount - std::min(launch.blockCount, launch.next.load());
  if (threads.empty() || left < 2 || (Clock::now() - begin) * left < std::chrono::microseconds(100)) {
    work(~0u);
    return;
  }
  Job job{&work};
  {
    std::lock_guard<std::mutex> lock(mutex);
    jobs.push_back(&job);
  }
  wanted.notify_all();
  work(~0u);
  std::unique_lock<std::mutex> lock(mutex);
  jobs.erase(std::remove(jobs.begin(), jobs.end(), &job), jobs.end());
  ended.wait(lock, [&] { return job.helpers == 0; });
}

} // namespace standin
