#include "Pool.h"

#include <algorithm>

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
    job->work();
    lock.lock();
    // What this thread found exhausted, others need not try.
    jobs.erase(std::remove(jobs.begin(), jobs.end(), job), jobs.end());
    if (--job->helpers == 0)
      ended.notify_all();
  }
}

void Pool::help(Job &job) {
  if (threads.empty())
    return;
  std::lock_guard<std::mutex> lock(mutex);
  jobs.push_back(&job);
  job.offered = true;
  wanted.notify_all();
}

void Pool::finish(Job &job) {
  if (!job.offered)
    return;
  std::unique_lock<std::mutex> lock(mutex);
  jobs.erase(std::remove(jobs.begin(), jobs.end(), &job), jobs.end());
  ended.wait(lock, [&] { return job.helpers == 0; });
}

} // namespace standin
