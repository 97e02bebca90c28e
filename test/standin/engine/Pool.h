// A few host threads that help with launches of many blocks.
#ifndef TESSERA_STANDIN_POOL_H
#define TESSERA_STANDIN_POOL_H

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace standin {

class Pool {
public:
  // What helpers do: blocks of one launch, until none is left.
  class Job {
  public:
    explicit Job(std::function<void()> work) : work(std::move(work)) {}

  private:
    friend class Pool;
    std::function<void()> work;
    unsigned helpers = 0; // at work on it
    bool offered = false;
  };

  static Pool &get();
  void help(Job &job);
  // Returns when no helper works on the job any more, and none will.
  void finish(Job &job);

private:
  Pool();
  void serve();

  std::mutex mutex;
  std::condition_variable wanted, ended;
  std::vector<Job *> jobs;
  std::vector<std::thread> threads;
};

} // namespace standin
#endif
