// A few host threads that help with launches of many blocks.
#ifndef TESSERA_STANDIN_POOL_H
#define TESSERA_STANDIN_POOL_H

#include "Scheduler.h"

#include <condition_variable>
#include <functional>
#include <thread>

namespace standin {

class Pool {
public:
  static Pool &get();
  // `work(most)` runs at most so many blocks of the launch, on this thread and, when the first ones took long
  // enough to be worth a wake-up, on the pool's too. Returns when nobody works on it any more.
  void run(Launch &launch, const std::function<void(uint32_t)> &work);

private:
  struct Job {
    const std::function<void(uint32_t)> *work;
    unsigned helpers = 0; // at work on it
  };
  Pool();
  void serve();

  std::mutex mutex;
  std::condition_variable wanted, ended;
  std::vector<Job *> jobs;
  std::vector<std::thread> threads;
};

} // namespace standin
#endif
